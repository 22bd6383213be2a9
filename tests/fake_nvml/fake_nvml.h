// The controls of the fake libnvidia-ml.so.1, which tests find by their names.
#pragma once

extern "C" {

// Starts anew, as a comma list says; later words beat earlier ones. devices=2; processes=3 (on each device; the first
// one is the process that asks); memory=unknown (the processes' memory is not told); width=8 (of 16); throttle=72;
// fail=nvmlDeviceGetPowerUsage:3 (that function returns 3 from now on). The default is 2 devices, no processes, 16
// lanes, nothing throttled.
void fakeNvmlConfigure(const char* options);
// Calls of all functions since.
int fakeNvmlCalls();
}
