"""How many registers the kernels of a program use, where an nvcc is here to say so."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.cuda.compiling import SECONDS, CompileTime
from harness.cuda.gate_messages import KernelFacts, kernels
from harness.cuda.gate_nvcc import Room, compile_library
from harness.cuda.nvcc import nvcc
from harness.cuda.program import ProgramSource
from harness.sandbox import Tier, scratch

_MEMORY_MIB = 8192


def kernel_registers(
    source: ProgramSource, architecture: str, *, tier: Tier, defines: Mapping[str, str] | None = None,
    includes: Sequence[Path] = (), standard: str = "c++17",
) -> tuple[tuple[KernelFacts, ...], str]:  # fmt: skip
    """What ptxas says of each kernel; and why there is nothing of some, empty where all was compiled.

    Args:
        source: the program.
        architecture: of the device, e.g. `sm_80`.
        tier: how nvcc is held.
        defines: macros.
        includes: folders that are searched for headers; only those inside the program's folder are.
        standard: the C++ level.

    Raises:
        BoxError: nvcc could not be started.
    """
    compiler = nvcc()
    if compiler is None:
        return (), "no nvcc here"
    entries = [entry for entry in source.entries if not entry.endswith(".c")]
    inside = [folder.resolve() for folder in includes if folder.resolve().is_relative_to(source.folder)]
    words = (
        *(f"-D{name}={value}" for name, value in (defines or {}).items()),
        *(f"-I{folder.relative_to(source.folder).as_posix()}" for folder in inside),
    )  # fmt: skip
    level = standard if standard == "c++20" else "c++17"  # as it is built for the emulated device
    with scratch.folder() as into:
        room = Room(tier, CompileTime(SECONDS), _MEMORY_MIB)
        done = compile_library(compiler, source.folder, entries, into, room, architecture, level, words)
    return kernels(done.log), "" if done.library is not None else "nvcc does not compile all of it"
