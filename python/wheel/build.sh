#!/usr/bin/env bash
# build.sh TOOLS: makes dist/stoker-*.whl, portable, with the Python and the programs of the virtual environment TOOLS
# (requirements.txt). What is built on the way stays in build/wheel*.
set -euo pipefail

tools=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
libraries=$root/build/wheel-libraries
plain=$root/build/wheel-plain
PATH=$tools/bin:$PATH

"$root/python/wheel/small_libraries.sh" "$libraries"

rm -rf "$plain"
# As tests/python/wheel_test.py does it, so that either finds the other's build folder done.
CXX=${CXX:-c++} pip wheel --no-deps --wheel-dir "$plain" --config-settings=build-dir="$root/build/wheel" \
  --config-settings=cmake.define.STOKER_WERROR=ON "$root"

# Where the linker of this system would find Debian's OpenCV and libtiff, auditwheel finds the small ones.
LD_LIBRARY_PATH=$libraries/lib auditwheel repair --strip --wheel-dir "$plain/portable" "$plain"/stoker-*.whl
python "$root/python/wheel/add_notices.py" "$plain"/portable/stoker-*.whl
mkdir -p "$root/dist"
mv "$plain"/portable/stoker-*.whl "$root/dist/"
