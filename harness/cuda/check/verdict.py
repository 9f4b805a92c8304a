"""The real compiler's verdict on a submission."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from harness.cuda.check.messages import (
    ERRORS_KEPT,
    CompilerError,
    KernelFacts,
    errors,
    find_nvcc_problem,
    kernels,
    ptx_facts,
)
from harness.cuda.check.nvcc import Compilation, Room, compile_library
from harness.cuda.check.nvrtc import SCOPE, DeviceCode, compile_device_code
from harness.cuda.check.sources import refusals
from harness.cuda.compilers.compile_time import SECONDS, TOO_BUSY, CompileTime
from harness.cuda.compilers.nvcc import CudaCompiler, cuda_compiler
from harness.model import Tier
from harness.sandbox.confinement import scratch
from harness.timing import clock

__all__ = ["CompilerError", "CompilerResult", "KernelFacts", "gate", "list_exports"]

_SHOWN = 8
# libraries that come beside a CUDA toolkit, and may be absent from one that works
_LIBRARIES = re.compile(
    r"\b(?:cublas|cudnn|curand|cusparse|cusolver|cufft|nccl|nvtx|cutlass|cute/|cub/|thrust/|nvshmem)[\w/.-]*", re.I
)
_ABSENT = re.compile(r"No such file or directory|cannot open source file|could not open source file")


@dataclass(frozen=True)
class CompilerResult:
    """The compiler's verdict.

    Attributes:
        compiler: name and version, or None.
        ok: True if the submission compiles, links and exports all functions; None if undecided.
        missing: required functions that the library does not export.
        text: the reason in a few lines unless `ok` is true.
        seconds: wall time.
        facts: further figures, by name.
    """

    compiler: str | None
    ok: bool | None
    errors: tuple[CompilerError, ...] = ()
    kernels: tuple[KernelFacts, ...] = ()
    missing: tuple[str, ...] = ()
    text: str = ""
    seconds: float = 0.0
    facts: Mapping[str, int | str] = field(default_factory=dict)


def gate(
    folder: Path,
    entries: Sequence[str],
    symbols: Sequence[str],
    *,
    tier: Tier,
    seconds: float = SECONDS,
    memory_mib: int = 8192,
    architecture: str = "sm_80",
    optimised: bool = True,
) -> CompilerResult:
    """Compile a submission in the sandbox as its author would, and link a shared library that must export `symbols`.

    `seconds` of processor time are for the whole build.
    """
    compiler = cuda_compiler()
    if compiler is None:
        text = "no CUDA compiler here; `pip install 'kernel-harness[nvcc]'` brings one; g++ or clang++ is needed too"
        return CompilerResult(None, None, text=text)
    name, start = f"{compiler.kind} {compiler.version}", clock.now()
    refused = tuple(CompilerError(r.file, r.line, r.text) for r in refusals(folder, entries))
    if refused:
        return CompilerResult(name, False, refused, text=_format_errors(refused), seconds=clock.now() - start)
    room = Room(tier, CompileTime(seconds), memory_mib, optimised)
    with scratch.folder() as into:
        if compiler.kind == "nvrtc":
            part, code = compile_device_code(compiler, folder, entries, into, room, architecture)
            return _judge_in_part(compiler, part, code, seconds, clock.now() - start)
        done = compile_library(compiler, folder, entries, into, room, architecture)
        said = _judge(compiler, done, symbols, seconds, clock.now() - start)
        # an error at no line of the submission may be the installation's
        placed = done.exceeded or said.missing or any((folder / e.file).is_file() for e in said.errors)
        if said.ok is False and not placed:
            problem = _explain_empty_failure(compiler, into, room, architecture)
            return replace(said, ok=None, text=f"nvcc fails on an empty kernel, too: {problem}") if problem else said
        return said


def _explain_empty_failure(compiler: CudaCompiler, into: Path, room: Room, architecture: str) -> str | None:
    source, out = into / "nothing", into / "nothing-out"
    source.mkdir()
    out.mkdir()
    (source / "nothing.cu").write_text("__global__ void nothing() {}\n", encoding="utf-8")
    done = compile_library(compiler, source, ["nothing.cu"], out, room, architecture)
    return (
        None if done.library is not None else _format_errors(errors(done.log)) or done.log.strip()[-500:] or "silently"
    )


def _judge(
    compiler: CudaCompiler, done: Compilation, symbols: Sequence[str], allowed: float, spent: float
) -> CompilerResult:
    name = f"{compiler.kind} {compiler.version}"
    uses = kernels(done.log)
    facts: dict[str, int | str] = {**ptx_facts(done.ptx), "warnings": len(re.findall(r"\bwarning\b.*:", done.log))}
    if done.library is not None:
        missing = _find_missing(list_exports(done.library), symbols)
        text = "\n".join(missing.values())
        return CompilerResult(name, not missing, (), uses, tuple(missing), text, spent, facts)
    if done.late:
        return CompilerResult(name, None, (), uses, text=_format_late(allowed), seconds=spent)
    if done.undecided:
        return CompilerResult(name, None, (), uses, text=TOO_BUSY, seconds=spent)
    found = errors(done.log)
    problem = find_nvcc_problem(done.log) or _find_absent_library(found)
    if problem:
        return CompilerResult(
            name, None, found, uses, text=f"{compiler.kind} could not be used: {problem}", seconds=spent
        )
    text = _format_errors(found) if found else f"{compiler.kind} failed: {done.log.strip()[-500:] or 'it said nothing'}"
    return CompilerResult(name, False, found, uses, text=text, seconds=spent)


def _judge_in_part(
    compiler: CudaCompiler, done: Compilation, code: DeviceCode, allowed: float, spent: float
) -> CompilerResult:
    name, uses = f"{compiler.kind} {compiler.version}", kernels(done.log)
    facts: dict[str, int | str] = {"scope": SCOPE, **ptx_facts(done.ptx)}
    found = errors(done.log)
    if done.late:
        return CompilerResult(name, None, (), uses, text=_format_late(allowed), seconds=spent, facts=facts)
    if done.undecided:
        return CompilerResult(name, None, (), uses, text=TOO_BUSY, seconds=spent, facts=facts)
    if done.library is not None and not found:
        return CompilerResult(name, True, (), uses, seconds=spent, facts=facts)
    # NVRTC's verdict counts where nvcc would agree: in device functions
    if found and code.is_nvcc_error(found[0]) and not _ABSENT.search(found[0].text):
        return CompilerResult(name, False, found, uses, text=_format_errors(found), seconds=spent, facts=facts)
    said = find_nvcc_problem(done.log) or _format_errors(found) or done.log.strip()[-500:]
    text = f"{compiler.kind} compiles device code only and cannot tell whether this builds: {said}"
    return CompilerResult(name, None, found, uses, text=text, seconds=spent, facts=facts)


def _format_late(allowed: float) -> str:
    return f"not compiled within {allowed:g} s of processor time"


def list_exports(library: Path) -> frozenset[str]:
    """Return the functions that a shared library exports."""
    try:
        with library.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".dynsym")
            if not isinstance(table, SymbolTableSection):
                return frozenset()
            return frozenset(
                symbol.name
                for symbol in table.iter_symbols()
                if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF"
            )
    except (ELFError, OSError):
        return frozenset()


def _find_missing(there: frozenset[str], symbols: Sequence[str]) -> dict[str, str]:
    found = {}
    for symbol in symbols:
        if symbol not in there:
            mangled = any(re.match(rf"_ZN?(?:\d+\w+)?{len(symbol)}{re.escape(symbol)}", name) for name in there)
            how = ', only a C++ function of that name: declare it extern "C"' if mangled else ""
            found[symbol] = f"the library exports no function `{symbol}`{how}"
    return found


def _find_absent_library(found: Sequence[CompilerError]) -> str | None:
    # the first error may be for want of an NVIDIA library, which is the machine's fault
    if not found or not (_ABSENT.search(found[0].text) or "undefined reference" in found[0].text):
        return None
    named = _LIBRARIES.search(found[0].text)
    return f"this machine's toolkit has no {named[0]}" if named else None


def _format_errors(found: Sequence[CompilerError]) -> str:
    lines = [f"{e.file}:{e.line}: {e.text}" if e.line else f"{e.file}: {e.text}" if e.file else e.text for e in found]
    more = len(lines) - _SHOWN
    counted = "more" if len(lines) >= ERRORS_KEPT else f"{more} more"  # the list was cut, so the number is unknown
    return "\n".join([*lines[:_SHOWN], f"... and {counted}"] if more > 0 else lines)
