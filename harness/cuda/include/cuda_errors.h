// Errors of the CUDA runtime API: names and values are CUDA's.
#pragma once

// X(name, value, text)
#define EMU_CUDA_ERRORS(X)                                                            \
    X(cudaSuccess, 0, "no error")                                                     \
    X(cudaErrorInvalidValue, 1, "invalid argument")                                   \
    X(cudaErrorMemoryAllocation, 2, "out of memory")                                  \
    X(cudaErrorInitializationError, 3, "initialization error")                        \
    X(cudaErrorCudartUnloading, 4, "driver shutting down")                            \
    X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")             \
    X(cudaErrorInvalidPitchValue, 12, "invalid pitch argument")                       \
    X(cudaErrorInvalidSymbol, 13, "invalid device symbol")                            \
    X(cudaErrorInvalidHostPointer, 16, "invalid host pointer")                        \
    X(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                    \
    X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")       \
    X(cudaErrorInsufficientDriver, 35, "driver version is insufficient")              \
    X(cudaErrorMissingConfiguration, 52, "kernel called without a configuration")     \
    X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                  \
    X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                   \
    X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                          \
    X(cudaErrorInvalidKernelImage, 200, "device kernel image is invalid")             \
    X(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available")           \
    X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                 \
    X(cudaErrorSymbolNotFound, 500, "named symbol not found")                         \
    X(cudaErrorNotReady, 600, "device not ready")                                     \
    X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")       \
    X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")  \
    X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")         \
    X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")       \
    X(cudaErrorAssert, 710, "device-side assert triggered")                           \
    X(cudaErrorHostMemoryAlreadyRegistered, 712, "host memory is already registered") \
    X(cudaErrorHostMemoryNotRegistered, 713, "host memory is not registered")         \
    X(cudaErrorHardwareStackError, 714, "hardware stack error")                       \
    X(cudaErrorIllegalInstruction, 715, "an illegal instruction was encountered")     \
    X(cudaErrorMisalignedAddress, 716, "misaligned address")                          \
    X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                      \
    X(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch") \
    X(cudaErrorNotPermitted, 800, "operation not permitted")                          \
    X(cudaErrorNotSupported, 801, "operation not supported")                          \
    X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing") \
    X(cudaErrorUnknown, 999, "unknown error")

enum cudaError {
#define EMU_DECLARE(name, value, text) name = value,
    EMU_CUDA_ERRORS(EMU_DECLARE)
#undef EMU_DECLARE
};
typedef enum cudaError cudaError_t;
