"""Shared by the tests of the compile gate: sources put into a folder, compiled in each tier."""

from pathlib import Path

import pytest

from harness.cuda.compilers.nvcc import nvcc, nvrtc
from tests import tiers_here

TIERS = pytest.mark.parametrize("tier", tiers_here.HELD)
A_TIER = pytest.mark.parametrize("tier", tiers_here.ONE)
"""One of them: what the compilers say is the same in all."""
needs_nvcc = pytest.mark.skipif(nvcc() is None, reason="no nvcc with a host compiler: `make compilers` brings one")
needs_nvrtc = pytest.mark.skipif(nvrtc() is None, reason="no NVRTC: pip install 'kernel-harness[nvrtc]' brings it")

RIGHT = """
__global__ void twice_kernel(const float* x, float* y, int n) {
    __shared__ float part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n) y[i] = 2.0f * part[threadIdx.x];
}
extern "C" int twice(const float* x, float* y, int n, cudaStream_t stream) {
    twice_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
    return static_cast<int>(cudaGetLastError());
}
"""


def put(folder: Path, **files: str) -> Path:
    """Write `files` below `folder`: `__` in a name stands for a slash, and the last `_` for the dot."""
    for name, text in files.items():
        path = folder / ".".join(name.replace("__", "/").rsplit("_", 1))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
