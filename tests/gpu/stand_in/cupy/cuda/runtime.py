"""The CUDA runtime's calls over the stand-in for the driver's library, which was loaded before."""

import ctypes

streamNonBlocking = 1  # noqa: N816, a name of CuPy's
_WORDS = {2: "cudaErrorMemoryAllocation: out of memory", 304: "cudaErrorOperatingSystem: OS call failed"}


def setDevice(device: int) -> None:  # noqa: N802
    status = ctypes.CDLL(None).cuInit(0)
    if status:
        raise RuntimeError(_WORDS[status])


def getDeviceProperties(device: int) -> dict[str, int]:  # noqa: N802
    return {}


def streamCreateWithFlags(flags: int) -> int:  # noqa: N802
    return 77


def eventCreate() -> int:  # noqa: N802
    return 1
