"""The real compiler's word on a submission: whether it compiles, exports its functions, and what its kernels use."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from harness.cuda.compiling import SECONDS, TOO_BUSY, CompileTime
from harness.cuda.gate_messages import ERRORS_KEPT, CompilerError, KernelFacts, broken, errors, kernels, ptx_facts
from harness.cuda.gate_nvcc import Compilation, Room, compile_library
from harness.cuda.gate_nvrtc import SCOPE, DeviceCode, compile_device_code
from harness.cuda.gate_sources import refusals
from harness.cuda.nvcc import CudaCompiler, cuda_compiler
from harness.model import Tier
from harness.sandbox import scratch
from harness.timing import clock

__all__ = ["CompilerError", "CompilerResult", "KernelFacts", "exported", "gate"]

_SHOWN = 8
# libraries that come beside a CUDA toolkit and may be absent from one that compiles all else
_LIBRARIES = re.compile(
    r"\b(?:cublas|cudnn|curand|cusparse|cusolver|cufft|nccl|nvtx|cutlass|cute/|cub/|thrust/|nvshmem)[\w/.-]*", re.I
)
_ABSENT = re.compile(r"No such file or directory|cannot open source file|could not open source file")


@dataclass(frozen=True)
class CompilerResult:
    """What the compiler said.

    Attributes:
        compiler: its name and version; None when there is none.
        ok: compiled, linked and exporting every function asked for; None when nothing here could tell.
        errors: the compiler's first errors.
        kernels: what each kernel uses.
        missing: functions asked for that the library does not export.
        text: the reason in a few lines when `ok` is not true.
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
    folder: Path, entries: Sequence[str], symbols: Sequence[str], *, tier: Tier, seconds: float = SECONDS,
    memory_mib: int = 8192, architecture: str = "sm_80", optimised: bool = True,
) -> CompilerResult:  # fmt: skip
    """Compile a submission as its author would, in the box, and link a shared library.

    Args:
        folder: its files.
        entries: those to compile, relative to it.
        symbols: C functions that the library must export.
        tier: how the compiler, fed with what the submission wrote, is held.
        seconds: processor time for all of it.
        memory_mib: address space of each process of the compiler.
        architecture: of the device the code is for.
        optimised: whether device code is optimised; where nvcc is there, what is refused does not depend on it.

    Raises:
        BoxError: the box could not be started.
    """
    compiler = cuda_compiler()
    if compiler is None:
        text = "no CUDA compiler here; `pip install 'kernel-harness[nvcc]'` brings one; g++ or clang++ is needed too"
        return CompilerResult(None, None, text=text)
    name, start = f"{compiler.kind} {compiler.version}", clock.now()
    refused = tuple(CompilerError(r.file, r.line, r.text) for r in refusals(folder, entries))
    if refused:
        return CompilerResult(name, False, refused, text=_listed(refused), seconds=clock.now() - start)
    room = Room(tier, CompileTime(seconds), memory_mib, optimised)
    with scratch.folder() as into:
        if compiler.kind == "nvrtc":
            part, code = compile_device_code(compiler, folder, entries, into, room, architecture)
            return _judged_in_part(compiler, part, code, seconds, clock.now() - start)
        done = compile_library(compiler, folder, entries, into, room, architecture)
        said = _judged(compiler, done, symbols, seconds, clock.now() - start)
        # an error at no line of the submission may be the installation's
        placed = done.exceeded or said.missing or any((folder / e.file).is_file() for e in said.errors)
        if said.ok is False and not placed:
            problem = _fails_on_nothing(compiler, into, room, architecture)
            return replace(said, ok=None, text=f"nvcc fails on an empty kernel, too: {problem}") if problem else said
        return said


def _fails_on_nothing(compiler: CudaCompiler, into: Path, room: Room, architecture: str) -> str | None:
    """Why an empty kernel does not compile; None when it does."""
    source, out = into / "nothing", into / "nothing-out"
    source.mkdir()
    out.mkdir()
    (source / "nothing.cu").write_text("__global__ void nothing() {}\n", encoding="utf-8")
    done = compile_library(compiler, source, ["nothing.cu"], out, room, architecture)
    return None if done.library is not None else _listed(errors(done.log)) or done.log.strip()[-500:] or "silently"


def _judged(
    compiler: CudaCompiler, done: Compilation, symbols: Sequence[str], allowed: float, spent: float
) -> CompilerResult:
    name = f"{compiler.kind} {compiler.version}"
    uses = kernels(done.log)
    facts: dict[str, int | str] = {**ptx_facts(done.ptx), "warnings": len(re.findall(r"\bwarning\b.*:", done.log))}
    if done.library is not None:
        missing = _missing(exported(done.library), symbols)
        text = "\n".join(missing.values())
        return CompilerResult(name, not missing, (), uses, tuple(missing), text, spent, facts)
    if done.late:
        return CompilerResult(name, None, (), uses, text=_late(allowed), seconds=spent)
    if done.undecided:
        return CompilerResult(name, None, (), uses, text=TOO_BUSY, seconds=spent)
    found = errors(done.log)
    problem = broken(done.log) or _absent_library(found)
    if problem:
        return CompilerResult(
            name, None, found, uses, text=f"{compiler.kind} could not be used: {problem}", seconds=spent
        )
    text = _listed(found) if found else f"{compiler.kind} failed: {done.log.strip()[-500:] or 'it said nothing'}"
    return CompilerResult(name, False, found, uses, text=text, seconds=spent)


def _judged_in_part(
    compiler: CudaCompiler, done: Compilation, code: DeviceCode, allowed: float, spent: float
) -> CompilerResult:
    """NVRTC's word counts where it sees what nvcc would: in device functions."""
    name, uses = f"{compiler.kind} {compiler.version}", kernels(done.log)
    facts: dict[str, int | str] = {"scope": SCOPE, **ptx_facts(done.ptx)}
    found = errors(done.log)
    if done.late:
        return CompilerResult(name, None, (), uses, text=_late(allowed), seconds=spent, facts=facts)
    if done.undecided:
        return CompilerResult(name, None, (), uses, text=TOO_BUSY, seconds=spent, facts=facts)
    if done.library is not None and not found:
        return CompilerResult(name, True, (), uses, seconds=spent, facts=facts)
    if found and code.judged(found[0]) and not _ABSENT.search(found[0].text):
        return CompilerResult(name, False, found, uses, text=_listed(found), seconds=spent, facts=facts)
    said = broken(done.log) or _listed(found) or done.log.strip()[-500:]
    text = f"{compiler.kind} compiles device code only and cannot tell whether this builds: {said}"
    return CompilerResult(name, None, found, uses, text=text, seconds=spent, facts=facts)


def _late(allowed: float) -> str:
    return f"not compiled within {allowed:g} s of processor time"


def exported(library: Path) -> frozenset[str]:
    """Names of the functions a shared library exports; empty when it is none."""
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


def _missing(there: frozenset[str], symbols: Sequence[str]) -> dict[str, str]:
    """Functions that are not exported, each with the reason in a sentence."""
    found = {}
    for symbol in symbols:
        if symbol not in there:
            mangled = any(re.match(rf"_ZN?(?:\d+\w+)?{len(symbol)}{re.escape(symbol)}", name) for name in there)
            how = ', only a C++ function of that name: declare it extern "C"' if mangled else ""
            found[symbol] = f"the library exports no function `{symbol}`{how}"
    return found


def _absent_library(found: Sequence[CompilerError]) -> str | None:
    """The library of NVIDIA's that the toolkit here does not have, when that is the first thing in the way."""
    if not found or not (_ABSENT.search(found[0].text) or "undefined reference" in found[0].text):
        return None
    named = _LIBRARIES.search(found[0].text)
    return f"this machine's toolkit has no {named[0]}" if named else None


def _listed(found: Sequence[CompilerError]) -> str:
    lines = [f"{e.file}:{e.line}: {e.text}" if e.line else f"{e.file}: {e.text}" if e.file else e.text for e in found]
    more = len(lines) - _SHOWN
    counted = "more" if len(lines) >= ERRORS_KEPT else f"{more} more"  # what was kept does not tell how many there are
    return "\n".join([*lines[:_SHOWN], f"... and {counted}"] if more > 0 else lines)
