"""The compilers that an answer in CUDA meets here, as a record keeps them."""

from harness.cuda.host_compiler import host_compiler
from harness.cuda.nvcc import cuda_compiler


def versions() -> tuple[tuple[str, str], ...]:
    """Name and version of the real CUDA compiler and of the one that builds for the emulated device."""
    cuda, host = cuda_compiler(), host_compiler()
    return (
        ("cuda compiler", f"{cuda.kind} {cuda.version}" if cuda else "missing"),
        ("host compiler", f"{host.kind} {host.version}" if host else "missing"),
    )
