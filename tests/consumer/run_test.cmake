# Installs the build, builds the project beside this file against nothing but the installed files, and runs it.
#   cmake -D BUILD=<build folder> -D COMPILER=<path> -D FLAGS=<flags> -P run_test.cmake
# The compiler and its flags are the build's own: a library with a sanitizer in it needs a program with the same one.
cmake_minimum_required(VERSION 3.25)
set(work ${BUILD}/consumer)
set(prefix ${work}/prefix)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  list(JOIN ARGV " " command)
  message(STATUS "${command}\n${output}")
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "status ${status}: ${command}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${work}/build -G Ninja -D CMAKE_PREFIX_PATH=${prefix}
  -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_CXX_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${work}/build)
# The installed command makes the pictures, which also shows that it finds its library and its plug-in.
run(${prefix}/bin/stoker synth ${work}/photos)
run(${work}/build/consumer ${work}/photos)
