"""What a sandbox shows of this machine: the interpreter, the system's files, a scrubbed environment."""

import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from harness.interpreter import EXECUTABLE

PACKAGE = Path(__file__).resolve().parents[1]
"""Without links, as `roots` are: under another name the harness's own files would be shown."""
BOOT = PACKAGE / "sandbox" / "boot"

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    # one allocator regime for every call: without these a call may fault its pages anew each time
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
}

SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/lib32")
FILES = ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
OF_PROC = (
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/version",
    "/proc/uptime",
    "/proc/loadavg",
)


def interpreter() -> str:
    """The interpreter that runs in the box: the one that runs the harness."""
    return EXECUTABLE


def environment(scratch: str) -> dict[str, str]:
    """The scrubbed environment of everything that runs in the box."""
    return ENVIRONMENT | {"HOME": scratch, "TMPDIR": scratch}


@cache
def roots() -> tuple[Path, ...]:
    """Where the interpreter and its packages really lie, outside /usr."""
    places = {Path(place).resolve() for place in _named()}
    program = Path(interpreter()).resolve()
    places.add(program.parents[1] if program.parent.name == "bin" else program.parent)
    # the whole machine is no part of an interpreter, wherever that lies
    wanted = sorted(p for p in places if p != Path("/") and not p.is_relative_to("/usr"))
    return tuple(p for p in wanted if not any(q in p.parents for q in wanted))


@cache
def links() -> Mapping[str, str]:
    """The links, with their targets, that lead to the interpreter and its packages and lie in nothing that is shown."""
    found: dict[str, str] = {}
    for place in (interpreter(), *_named()):
        found |= _links_on(place)
    places = (*map(Path, SYSTEM), *roots())
    return {link: target for link, target in found.items() if not within(Path(link), places)}


def aliases() -> tuple[str, ...]:
    """The names under which the interpreter knows its own files, links among their folders."""
    return tuple(str(place) for place in _named() if place != "/")


def _named() -> tuple[str, ...]:
    """The folders of the interpreter and of its packages, as it names them."""
    return sys.base_prefix, sys.base_exec_prefix, sys.prefix, sysconfig.get_path("purelib")


def _links_on(path: str) -> dict[str, str]:
    """The links that the kernel follows on the way to an absolute path, each by its own real place."""
    found: dict[str, str] = {}
    here, left = Path("/"), path.split("/")
    while left:
        part = left.pop(0)
        if part == "..":
            here = here.parent
        elif os.path.islink(here / part):
            target = found[str(here / part)] = os.readlink(here / part)
            here, left = (Path("/") if target.startswith("/") else here), [*target.split("/"), *left]
        else:
            here /= part
    return found


def shown(*places: str) -> tuple[str, ...]:
    """Trees and files that may be read inside: those of this machine, and `places`."""
    return (*_trees(), *FILES, *places)


@cache
def _trees() -> tuple[str, ...]:
    """The system's and the interpreter's trees; where the harness is installed in one, those around it."""
    return tuple(str(tree) for root in (*map(Path, SYSTEM), *roots()) for tree in _without(root, PACKAGE))


@cache
def listable() -> tuple[str, ...]:
    """The folder that the harness is installed in among other packages: Python imports nothing from one it cannot list.

    What the harness's own files hold stays closed.
    """
    return (str(PACKAGE.parent),) if within(PACKAGE, (*map(Path, SYSTEM), *roots())) else ()


def within(path: Path, roots: Sequence[Path]) -> bool:
    """Whether one of `roots` holds `path`."""
    return any(path.is_relative_to(root) for root in roots)


def _without(root: Path, hidden: Path) -> Iterator[Path]:
    """The largest trees below `root` that do not hold `hidden`."""
    if not hidden.is_relative_to(root):
        yield root
        return
    for child in sorted(root.iterdir()):
        # a link to a folder around it opens that folder, as `lib64` of a virtual environment does
        if child != hidden and not (child.is_symlink() and hidden.resolve().is_relative_to(child.resolve())):
            yield from _without(child, hidden)
