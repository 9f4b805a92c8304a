"""Versions of the compilers for CUDA submissions."""

from harness.cuda.compilers.host_compiler import host_compiler
from harness.cuda.compilers.nvcc import cuda_compiler


def versions() -> tuple[tuple[str, str], ...]:
    """Return name and version of the real CUDA compiler and of the emulated device's."""
    cuda, host = cuda_compiler(), host_compiler()
    return (
        ("cuda compiler", f"{cuda.kind} {cuda.version}" if cuda else "missing"),
        ("host compiler", f"{host.kind} {host.version}" if host else "missing"),
    )
