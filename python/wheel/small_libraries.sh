#!/usr/bin/env bash
# small_libraries.sh FOLDER: builds into FOLDER/lib the OpenCV and the libtiff that portable wheels bring, once.
#
# libstoker_opencv.so is linked with Debian's OpenCV, which pulls in GDAL and with it some 100 libraries. These are the
# same versions from the same sources, so that they can stand in for Debian's: OpenCV with nothing but BMP and TIFF,
# libtiff without LERC and without JBIG, whose library is under the GPL.
set -euo pipefail

folder=$1
jobs=$(nproc)
source_of() { dpkg-query -W -f='${source:Package}=${source:Version}' "$1"; }
sources=("$(source_of libtiff-dev)" "$(source_of libopencv-core-dev)")

# What these libraries depend on: where it changed, they are built again.
stamp=$folder/.built
wanted="${sources[*]} $(sha256sum <"${BASH_SOURCE[0]}")"
[[ $(cat "$stamp" 2>/dev/null) != "$wanted" ]] || exit 0

rm -rf "$folder"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache" "$folder/lib"
cd "$folder"

# Sources are not among a system's package lists, so they get lists of their own; the system's stay as they are.
apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' \
  'Created-By: Packages' 'Origin: Debian' 'Component: main' | sort -u >apt/sources.list
[[ -s apt/sources.list ]] || {
  echo 'small_libraries.sh: apt knows no Debian packages; try apt-get update' >&2
  exit 1
}
apt=(apt-get -q -o "Dir::Etc::SourceList=$PWD/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o "Dir::State::lists=$PWD/apt/lists" -o "Dir::Cache=$PWD/apt/cache" -o APT::Sandbox::User=)
"${apt[@]}" update
"${apt[@]}" source --download-only "${sources[@]}"
dpkg-source --no-check -x tiff_*.dsc tiff
dpkg-source --no-check -x opencv_*.dsc opencv

# build NAME OPTION...: the source folder NAME, a release of shared libraries.
build() {
  local name=$1
  shift
  cmake -S "$name" -B "$name-build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
    -DCMAKE_POLICY_VERSION_MINIMUM=3.5 "$@"
  cmake --build "$name-build" --parallel "$jobs"
}

build tiff -Djbig=OFF -Dlerc=OFF -Dlibdeflate=OFF -Dcxx=OFF -Dtiff-tools=OFF -Dtiff-tests=OFF -Dtiff-contrib=OFF \
  -Dtiff-docs=OFF
without=()
for name in PNG JPEG WEBP OPENEXR JASPER OPENJPEG GDAL GDCM IMGCODEC_HDR IMGCODEC_SUNRASTER IMGCODEC_PXM IMGCODEC_PFM \
  IPP ITT OPENCL EIGEN LAPACK PROTOBUF QUIRC ADE VA FFMPEG GSTREAMER V4L 1394 GTK QT TBB OPENMP PTHREADS_PF VTK; do
  without+=("-DWITH_$name=OFF")
done
# -O1 and no hand-written SIMD: a quarter less to wait for. What is left to OpenCV here is to swap red and blue.
build opencv -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DCV_DISABLE_OPTIMIZATION=ON -DCPU_BASELINE=SSE3 -DCPU_DISPATCH= \
  -DCV_TRACE=OFF -DENABLE_PRECOMPILED_HEADERS=OFF -DBUILD_LIST=core,imgproc,imgcodecs -DBUILD_TESTS=OFF \
  -DBUILD_PERF_TESTS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_opencv_apps=OFF -DBUILD_JAVA=OFF -DBUILD_TIFF=OFF \
  -DBUILD_ZLIB=OFF "${without[@]}"

cp -P tiff-build/libtiff/libtiff.so.* opencv-build/lib/libopencv_*.so.* lib/
rm -rf apt tiff* opencv*
printf '%s' "$wanted" >"$stamp"
