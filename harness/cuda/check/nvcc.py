"""nvcc in the sandbox, from a submission's files to a shared library."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.cuda.compilers.compile_time import CompileTime
from harness.cuda.compilers.nvcc import CudaCompiler
from harness.model import Tier
from harness.sandbox.session.command import CommandLimit, Completed

LOG_KEPT = 1 << 20
"""Bytes of a log: half from the start, which has the first errors, and half from the end."""
PTX_KEPT = 8 << 20
LIBRARY = "answer.so"
_SCRATCH_MIB = 512
# the log goes to a file: a pipe keeps the end of a flood, but the first errors matter most
_LOGGED = ("/bin/sh", "-c", 'log=$1; shift; exec "$@" >"$log" 2>&1', "sh")


@dataclass(frozen=True)
class Room:
    """Limits and options of one build.

    Attributes:
        memory_mib: address space of each process.
        optimised: True to optimise device code, which takes most of the time and affects no refusal.
    """

    tier: Tier
    time: CompileTime
    memory_mib: int
    optimised: bool = True


@dataclass(frozen=True)
class Compilation:
    """The result of a build, and the limit that ended it, if any; paths in the log are the submission's or names."""

    library: Path | None
    log: str
    ptx: str
    exceeded: CommandLimit | None = None

    @property
    def late(self) -> bool:
        """True if processor time ran out, as it would on any machine."""
        return self.exceeded is CommandLimit.PROCESSOR_TIME

    @property
    def undecided(self) -> bool:
        """True if wall-clock time ran out on a busy machine."""
        return self.exceeded is CommandLimit.WALL_CLOCK


def compile_library(
    compiler: CudaCompiler,
    folder: Path,
    entries: Sequence[str],
    into: Path,
    room: Room,
    architecture: str,
    standard: str = "c++17",
    further: Sequence[str] = (),
) -> Compilation:
    """Compile each entry, relative to `folder`, and link a shared library, in a folder below the empty `into`."""
    common = (f"-std={standard}", f"-arch={architecture}", *further)
    whole = _compile(compiler, folder, entries, into / "whole", room, common)
    if whole.library is None and "Unresolved extern" in whole.log:
        # a device function of another file is called, which needs relocatable code and a device link
        return _compile(compiler, folder, entries, into / "parts", room, (*common, "-rdc=true"))
    return whole


def _compile(
    compiler: CudaCompiler, folder: Path, entries: Sequence[str], into: Path, room: Room, common: Sequence[str]
) -> Compilation:
    into.mkdir()
    log, ptx = "", ""
    for index, entry in enumerate(entries):
        place = into / str(index)
        place.mkdir()
        words = (
            *(*common, "-O3" if room.optimised else "-G", "-Xcompiler", "-fPIC", "-I.", "-Xptxas", "-v"),
            *("--keep", "--keep-dir", f"{{out}}/{index}"),
            *("-x", "cu", "-c", f"./{entry}", "-o", f"{{out}}/{index}/unit.o"),
        )
        done, said = _run(compiler, words, folder, into, room)
        log += said
        if done.returncode != 0:
            return Compilation(None, log, ptx, done.exceeded)
        ptx += "".join(_read(p, PTX_KEPT) for p in sorted(place.glob("*.ptx")))
    objects = [f"{{out}}/{index}/unit.o" for index in range(len(entries))]
    words = (*common, "-shared", *objects, "-o", f"{{out}}/{LIBRARY}", "-Xlinker", "--no-undefined")
    done, said = _run(compiler, words, folder, into, room)
    return Compilation(into / LIBRARY if done.returncode == 0 else None, log + said, ptx, done.exceeded)


def _run(compiler: CudaCompiler, words: Sequence[str], folder: Path, into: Path, room: Room) -> tuple[Completed, str]:
    log = into / "log"
    log.unlink(missing_ok=True)
    done = room.time.run(
        (*_LOGGED, "{out}/log", *compiler.command, *words),
        folder,
        tier=room.tier,
        memory_mib=room.memory_mib,
        scratch_mib=_SCRATCH_MIB,
        extra=compiler.folders,
        writable={"out": into},
    )
    return done, without_paths(_read_ends(log) + done.output, compiler, folder, into)


def without_paths(text: str, compiler: CudaCompiler, folder: Path, into: Path) -> str:
    """Make the submission's paths relative, and strip the folders of all others."""
    for own in dict.fromkeys((str(folder), str(folder.resolve()), "/submission")):
        text = re.sub(rf"(?<![\w.-]){re.escape(own)}/", "", text)
    mounted = [*(str(p) for p in compiler.folders.values()), *(f"/extra/{name}" for name in compiler.folders)]
    places = (*mounted, str(into), "/extra/out", "/usr/include", "/usr/lib", "/usr/bin", "/usr/local", "/opt", "/tmp")
    inside = "|".join(re.escape(place) for place in sorted(places, key=len, reverse=True))
    return re.sub(rf"(?<![\w.-])(?:{inside})/(?:[\w.+@=-]+/)*", "", text)


def _read_ends(log: Path) -> str:
    size = log.stat().st_size if log.is_file() and not log.is_symlink() else 0
    if size <= LOG_KEPT:
        return _read(log, LOG_KEPT)
    # drop the middle of a long log
    with log.open("rb") as file:
        head = file.read(LOG_KEPT // 2)
        file.seek(size - LOG_KEPT // 2)
        return (head + b"\n" + file.read(LOG_KEPT // 2)).decode(errors="replace")


def _read(path: Path, limit: int) -> str:
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(limit).decode(errors="replace")
