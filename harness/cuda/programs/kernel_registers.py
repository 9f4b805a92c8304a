"""Register use of a program's kernels, according to nvcc."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.cuda.check.messages import KernelFacts, kernels
from harness.cuda.check.nvcc import Room, compile_library
from harness.cuda.compilers.compile_time import SECONDS, CompileTime
from harness.cuda.compilers.nvcc import nvcc
from harness.cuda.programs.program import ProgramSource
from harness.sandbox import Tier
from harness.sandbox.confinement import scratch

_MEMORY_MIB = 8192


def kernel_registers(
    source: ProgramSource,
    architecture: str,
    *,
    tier: Tier,
    defines: Mapping[str, str] | None = None,
    includes: Sequence[Path] = (),
    standard: str = "c++17",
) -> tuple[tuple[KernelFacts, ...], str]:
    """Return ptxas's figures for each kernel, and why some are missing, or empty.

    Header folders outside the program's folder are ignored.
    """
    compiler = nvcc()
    if compiler is None:
        return (), "no nvcc here"
    entries = [entry for entry in source.entries if not entry.endswith(".c")]
    inside = [folder.resolve() for folder in includes if folder.resolve().is_relative_to(source.folder)]
    words = (
        *(f"-D{name}={value}" for name, value in (defines or {}).items()),
        *(f"-I{folder.relative_to(source.folder).as_posix()}" for folder in inside),
    )
    level = standard if standard == "c++20" else "c++17"  # the same as for the emulated device
    with scratch.folder() as into:
        room = Room(tier, CompileTime(SECONDS), _MEMORY_MIB)
        done = compile_library(compiler, source.folder, entries, into, room, architecture, level, words)
    return kernels(done.log), "" if done.library is not None else "nvcc does not compile all of it"
