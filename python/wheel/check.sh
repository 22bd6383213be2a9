#!/usr/bin/env bash
# check.sh WHEEL...: the size of each, and its use in a new Debian 12 with nothing in it but Python, which is thrown away
# afterwards. Works as root, and for others where the kernel lets them have a namespace (mmdebstrap's modes).
set -euo pipefail

max_bytes=30000000
tests=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../tests/python")
# Where this system has its packages from.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 'Component: main' |
  sort -u | head -n 1)

for wheel; do
  bytes=$(stat -c %s "$wheel")
  echo "$wheel: $bytes bytes"
  ((bytes < max_bytes)) || { echo "more than $max_bytes" >&2 && exit 1; }
  if [[ $wheel != *-cp311-* ]]; then
    echo "not tried in a Debian 12: its Python is 3.11"
    continue
  fi
  # shellcheck disable=SC2016  # $1 is the new root: mmdebstrap's shell knows it
  mmdebstrap --quiet --variant=minbase --include=python3,python3-venv --dpkgopt=force-unsafe-io \
    --customize-hook="copy-in '$(realpath "$wheel")' '$tests/bare_python.py' /opt" \
    --customize-hook='chroot "$1" sh -ec "
      if ldconfig -p | grep -E \"lib(fmt|hwy|jpeg|opencv_|png16|stoker|tbb|tiff|uring|webp)\"; then exit 1; fi
      python3 -m venv /opt/venv
      /opt/venv/bin/pip -q install --no-index --no-deps /opt/*.whl
      /opt/venv/bin/python /opt/bare_python.py"' \
    bookworm /dev/null ${mirror:+"$mirror"}
done
