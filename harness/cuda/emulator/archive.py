"""The device's runtime, compiled once per compiler, options and source."""

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from filelock import FileLock

from harness.cuda.compilers.host_compiler import HostCompiler
from harness.cuda.emulator import flags
from harness.errors import JudgeError, PrerequisiteError
from harness.timing.exclusive import beside_others

_CUDA = Path(__file__).parents[1]
RUNTIME = _CUDA / "runtime"
INCLUDE = _CUDA / "include"
HOST_INCLUDE = _CUDA / "host_include"
"""Headers for programs only, searched before the machine's."""
HEADER = _CUDA / "rewriting" / "rewritten.h"
"""Header precompiled once for all submissions, kept beside the objects."""
OBJECTS, LOCK = "objects", "lock"
"""Names beside the runtimes: their object files, and the lock for making or removing one."""
_VARIABLE = "HARNESS_CACHE"
_SECONDS = 600
CORE, WATCHING, STAND_IN = "core", "watching", "observer_none"
_WATCHERS = frozenset({"observe", "shadow", "races", "counters"})
"""Folders of the runtime that only instrumented builds link."""
_INCLUDED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def runtime(compiler: HostCompiler) -> Path:
    """Return the folder of the runtime's objects, compiled now if missing.

    Raises:
        PrerequisiteError: a cache folder that cannot be written.
        JudgeError: a runtime that does not compile.
    """
    cache = runtimes_folder()
    (cache / OBJECTS).mkdir(parents=True, exist_ok=True)
    keys, place = _find_keys_and_place(compiler)
    if place.is_dir():
        with contextlib.suppress(OSError):  # records the last use, where this user may
            os.utime(place)
        return place
    with FileLock(cache / LOCK):  # others wait for the objects instead of making them again
        if not place.is_dir():
            with beside_others():
                _gather(compiler, keys, cache, place)
    return place


def in_use(compiler: HostCompiler) -> frozenset[str]:
    """Return the names of this runtime version's folder and objects."""
    keys, place = _find_keys_and_place(compiler)
    return frozenset({place.name, *(f"{key}.o" for key in keys.values())})


def runtimes_folder() -> Path:
    """Return the folder of compiled runtimes.

    Raises:
        PrerequisiteError: failure to create the cache folder.
    """
    return cache_folder() / "runtime"


def _find_keys_and_place(compiler: HostCompiler) -> tuple[dict[str, str], Path]:
    keys = {part: _make_key(compiler, files) for part, files in parts().items()}
    keys_of_all = sorted([*keys.values(), _make_key(compiler, [HEADER])])
    hiding = Path(__file__).with_name("linkage.py").read_text(encoding="utf-8")
    return keys, runtimes_folder() / _digest(repr((keys_of_all, flags.EXPORTS, hiding)).encode())


def _gather(compiler: HostCompiler, keys: Mapping[str, str], cache: Path, place: Path) -> None:
    from harness.cuda.emulator import linkage  # reads ELF files, which takes long to load

    # renamed into place once complete
    made = Path(tempfile.mkdtemp(prefix=".making-", dir=cache))
    try:
        _compile(compiler, {part: cache / OBJECTS / f"{key}.o" for part, key in keys.items()}, made)
        for part, key in keys.items():
            shutil.copy(cache / OBJECTS / f"{key}.o", made / f"{part}.o")
        linkage.hide(made / f"{part}.o" for part in keys)
        (made / "exports.map").write_text(flags.EXPORTS, encoding="utf-8")
        if compiler.kind == "zig":
            _warm(compiler, made)
        made.chmod(0o755)
        made.rename(place)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def objects(folder: Path, *, instrumented: bool) -> list[str]:
    """Return the objects to link: the device, and the access watchers or their stand-in."""
    return [f"{CORE}.o", f"{WATCHING if instrumented else STAND_IN}.o"]


def cache_folder() -> Path:
    """Return the cache folder: HARNESS_CACHE, else `harness` in the user's.

    Raises:
        PrerequisiteError: failure to create it.
    """
    named = os.environ.get(_VARIABLE, "").strip()
    place = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "harness")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PrerequisiteError(f"{place}: cannot be made ({error}); set {_VARIABLE} to a folder to keep") from error
    return place.resolve()


def environment(compiler: HostCompiler) -> dict[str, str]:
    """Return the compiler's environment variables; zig caches its C++ library beside the runtime."""
    if compiler.kind != "zig":
        return {}
    folder = cache_folder() / "zig"
    folder.mkdir(exist_ok=True)
    return {"ZIG_GLOBAL_CACHE_DIR": str(folder), "ZIG_LOCAL_CACHE_DIR": str(folder)}


def parts() -> dict[str, list[Path]]:
    """Return the runtime's sources by object; one unit per object compiles in a seventh of the time."""
    found: dict[str, list[Path]] = {CORE: [], WATCHING: [], STAND_IN: []}
    for path in sorted(RUNTIME.rglob("*.cpp")):
        watches = path.parent.name in _WATCHERS
        found[STAND_IN if path.stem == STAND_IN else WATCHING if watches else CORE].append(path)
    return found


def _make_key(compiler: HostCompiler, files: Sequence[Path]) -> str:
    watched = flags.compile_flags(compiler, instrumented=True)
    found = [repr((compiler, flags.runtime_flags(compiler), watched)).encode()]
    # all runtime files that the object includes
    seen: dict[Path, None] = {}
    waiting = list(files)
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen[path] = None
            text = path.read_bytes()
            found.append(path.name.encode() + b"\0" + text)
            named = (match[1].decode() for match in _INCLUDED.finditer(text))
            beside = (folder / name for name in named for folder in (path.parent, RUNTIME, INCLUDE))
            waiting += [place.resolve() for place in beside if place.is_file()]
    return _digest(b"\0".join(sorted(found)))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _compile(compiler: HostCompiler, objects: Mapping[str, Path], scratch: Path) -> None:
    files = parts()

    def one(part: str) -> str:
        source, made = scratch / f"all_of_{part}.cpp", scratch / f"{part}.o"  # must not include itself
        source.write_text(
            "".join(f'#include "{path.relative_to(RUNTIME)}"\n' for path in files[part]), encoding="utf-8"
        )
        words = (*compiler.command, *flags.runtime_flags(compiler), "-I", str(INCLUDE), "-I", str(RUNTIME))
        done = _run(compiler, (*words, "-c", str(source), "-o", str(made)))
        source.unlink()
        if done.returncode == 0:
            made.replace(objects[part])
            return ""
        return done.stderr.decode(errors="replace")[:2000] or "no output"

    missing = [part for part, path in objects.items() if not path.is_file()]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for part, said in zip(missing, pool.map(one, missing), strict=True):
            if said:
                raise JudgeError(f"{part}: our runtime does not compile with {compiler.command[0]}:\n{said}")


def _warm(compiler: HostCompiler, folder: Path) -> None:
    # zig builds its C++ library now, where it may take minutes, ahead of links in the sandbox
    source, made = folder / "main.cpp", folder / "main.o"
    source.write_text('#include <vector>\n#include <cstdio>\nint main() { std::vector<int> a(3); std::puts(""); }\n')
    translation = (*flags.compile_flags(compiler, instrumented=False), "-c", str(source), "-o", str(made))
    _run(compiler, (*compiler.command, *translation))
    for program in (False, True):
        link = [word.replace("{exports}", str(folder)) for word in flags.link_flags(program=program)]
        _run(compiler, (*compiler.command, str(made), *link, "-o", str(folder / "warm")))
    for path in (source, made, folder / "warm"):
        path.unlink(missing_ok=True)


def _run(compiler: HostCompiler, words: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        words,
        capture_output=True,
        timeout=_SECONDS,
        check=False,
        env=os.environ | environment(compiler),
        start_new_session=True,
    )
