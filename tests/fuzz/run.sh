#!/usr/bin/env bash
# run.sh BUILD SECONDS: runs each fuzzer of a build for so long. Corpora, logs and findings stay in BUILD. One line for a
# fuzzer that found nothing, its last words for one that did; exit status 1 if any did.
set -euo pipefail
build=$1
seconds=$2

# run_one FUZZER
run_one() {
  local fuzzer=$1 name corpus found log executions status=0
  name=$(basename "$fuzzer")
  corpus=$build/corpus/$name
  found=$build/findings/$name
  log=$build/$name.log
  mkdir -p "$corpus" "$found"
  # -max_len: the seeds are small, and the fewer bytes, the more executions a second. llvm's own folder has the program
  # that turns addresses into lines.
  PATH=/usr/lib/llvm-14/bin:$PATH "$fuzzer" -max_total_time="$seconds" -max_len=65536 -timeout=20 -rss_limit_mb=3072 \
    -print_final_stats=1 -artifact_prefix="$found/" "$corpus" >"$log" 2>&1 || status=$?
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  if ((status != 0)); then
    tail -n 60 "$log"
    printf '%s: FINDING after %s executions; log %s, input in %s\n' "$name" "${executions:-?}" "$log" "$found"
    return 1
  fi
  printf '%s: %s executions in %s s, %s inputs kept, no finding\n' \
    "$name" "$executions" "$seconds" "$(find "$corpus" -type f | wc -l)"
}

"$build/bin/fuzz_seeds" "$build/corpus"
findings=0
for fuzzer in "$build"/bin/*_fuzz; do
  run_one "$fuzzer" || findings=$((findings + 1))
done
if ((findings > 0)); then
  printf '%s fuzzers with a finding\n' "$findings" >&2
  exit 1
fi
