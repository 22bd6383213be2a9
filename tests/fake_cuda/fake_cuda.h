// The controls of the fake libcuda.so.1, which tests look up with dlsym. The environment variable STOKER_FAKE_CUDA is
// what it is configured with at first.
#pragma once

#include <cstdint>

extern "C" {
// Starts anew, with the options of ParseFakeOptions: no call counted, all contexts gone, none current on
// the calling thread. cuInit's effect lasts.
void fakeCudaConfigure(const char* options);
// Calls of an entry point so far, those that failed included.
uint64_t fakeCudaCalls(const char* entry);
// How many hold the device's primary context.
int fakeCudaRetains(int device);
// The rules broken since the last call, one a line. Those that nobody asked for end the process at its exit.
const char* fakeCudaViolations();
}
