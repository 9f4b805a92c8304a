// The checks and the choice of a device of NVIDIA's samples.
#pragma once

#include "cuda_runtime.h"
#include "helper_string.h"

namespace emu {

inline void ended(cudaError_t error, const char* what, const char* file, int line) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, what, cudaGetErrorString(error), cudaGetErrorName(error));
    std::exit(EXIT_FAILURE);
}
template <class Status>
void ended(Status status, const char* what, const char* file, int line) {
    if (!status) return;
    std::fprintf(stderr, "%s:%d: %s: status %d\n", file, line, what, static_cast<int>(status));
    std::exit(EXIT_FAILURE);
}

}  // namespace emu

#define checkCudaErrors(call) ::emu::ended((call), #call, __FILE__, __LINE__)
#define getLastCudaError(text) ::emu::ended(cudaGetLastError(), text, __FILE__, __LINE__)
#define printLastCudaError(text) getLastCudaError(text)

inline int _ConvertSMVer2Cores(int, int) { return 64; }
inline int gpuGetMaxGflopsDeviceId() { return 0; }
inline int gpuDeviceInit(int device) { return device == 0 ? 0 : -1; }
inline int findCudaDevice(int, const char**) {
    cudaDeviceProp device;
    checkCudaErrors(cudaSetDevice(0));
    checkCudaErrors(cudaGetDeviceProperties(&device, 0));
    std::printf("GPU Device 0: \"%s\" with compute capability %d.%d\n\n", device.name, device.major, device.minor);
    return 0;
}
inline int findIntegratedGPU() { return -1; }
inline bool checkCudaCapabilities(int major, int minor) { return major < 8 || (major == 8 && minor == 0); }
