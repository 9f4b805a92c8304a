"""Our runtime, compiled once for each compiler, its options and the runtime's source, and kept."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.cuda import flags
from harness.cuda.host_compiler import HostCompiler
from harness.errors import JudgeError, PrerequisiteError

RUNTIME = Path(__file__).parent / "runtime"
INCLUDE = Path(__file__).parent / "include"
_VARIABLE = "HARNESS_CACHE"
_SECONDS = 600


def runtime(compiler: HostCompiler) -> Path:
    """The folder with the runtime's objects, compiled now if they are not there.

    Raises:
        PrerequisiteError: the cache folder cannot be written.
        JudgeError: the runtime does not compile.
    """
    place = cache_folder() / "runtime" / _key(compiler)
    if place.is_dir():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".making-", dir=place.parent))
    try:
        _compile(compiler, made)
        (made / "exports.map").write_text(flags.EXPORTS, encoding="utf-8")
        made.chmod(0o755)
        made.rename(place)
    except OSError:
        if not place.is_dir():  # else another process was first, with the same objects
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return place


def objects(folder: Path, *, instrumented: bool) -> list[str]:
    """The objects to link: those that watch accesses, or the one that stands in for them."""
    watching = tuple(f"{name}*.o" for name in ("hooks", "shadow", "races", "counters"))
    left_out = ("observer_none.o",) if instrumented else watching
    return sorted(p.name for p in folder.glob("*.o") if not any(p.match(pattern) for pattern in left_out))


def cache_folder() -> Path:
    """Where what takes long to make is kept: HARNESS_CACHE, else `harness` in the user's cache folder.

    Raises:
        PrerequisiteError: it cannot be made.
    """
    named = os.environ.get(_VARIABLE, "").strip()
    place = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "harness")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PrerequisiteError(f"{place}: cannot be made ({error}); set {_VARIABLE} to a folder to keep") from error
    return place.resolve()


def environment(compiler: HostCompiler) -> dict[str, str]:
    """What the compiler's environment must hold: zig keeps its C++ library beside the runtime."""
    if compiler.kind != "zig":
        return {}
    folder = cache_folder() / "zig"
    folder.mkdir(exist_ok=True)
    return {"ZIG_GLOBAL_CACHE_DIR": str(folder), "ZIG_LOCAL_CACHE_DIR": str(folder)}


def sources() -> list[Path]:
    """The runtime's source files."""
    return sorted(path for path in RUNTIME.iterdir() if path.suffix in (".cpp", ".S"))


def _key(compiler: HostCompiler) -> str:
    found = hashlib.sha256(repr((compiler, flags.runtime_flags(compiler), flags.EXPORTS)).encode())
    for folder in (RUNTIME, INCLUDE):
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            content = path.read_bytes()
            found.update(f"{path.relative_to(folder).as_posix()} {len(content)} ".encode() + content)
    return found.hexdigest()[:32]


def _compile(compiler: HostCompiler, into: Path) -> None:
    def one(source: Path) -> subprocess.CompletedProcess[bytes]:
        words = (*compiler.command, *_flags(compiler, source), "-I", str(INCLUDE), "-c", str(source))
        return _run(compiler, (*words, "-o", str(into / f"{source.stem}.o")))

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for source, done in zip(sources(), pool.map(one, sources()), strict=True):
            if done.returncode:
                said = done.stderr.decode(errors="replace")[:2000]
                raise JudgeError(f"{source.name}: our runtime does not compile with {compiler.command[0]}:\n{said}")
    if compiler.kind == "zig":
        _warm(compiler, into)


def _warm(compiler: HostCompiler, folder: Path) -> None:
    """Have zig build its C++ library now, where it may take minutes, rather than in the box."""
    for words in (("-shared", "-fPIC"), ()):
        main = folder / "main.cpp"
        main.write_text('#include <vector>\n#include <cstdio>\nint main() { std::vector<int> a(3); std::puts(""); }\n')
        target = (*words, *flags.compile_flags(compiler, instrumented=False), str(main), "-o", str(folder / "warm"))
        _run(compiler, (*compiler.command, *target))
    for path in (folder / "main.cpp", folder / "warm"):
        path.unlink(missing_ok=True)


def _flags(compiler: HostCompiler, source: Path) -> Sequence[str]:
    return ("-fPIC", "-g") if source.suffix == ".S" else flags.runtime_flags(compiler)


def _run(compiler: HostCompiler, words: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        words, capture_output=True, timeout=_SECONDS, check=False, env=os.environ | environment(compiler)
    )
