"""The files of this machine that a sandbox shows."""

import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from harness.interpreter import EXECUTABLE

PACKAGE = Path(__file__).resolve().parents[2]
"""Folder of this package without links, like `roots`; under another name its files would be visible."""
BOOT = PACKAGE / "sandbox" / "inside"

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
OF_PROC = tuple(f"/proc/{name}" for name in ("self", "cpuinfo", "meminfo", "stat", "version", "uptime", "loadavg"))


def interpreter() -> str:
    """Return the interpreter for the box."""
    return EXECUTABLE


def environment(scratch: str) -> dict[str, str]:
    """Return the environment of every process in the box."""
    return ENVIRONMENT | {"HOME": scratch, "TMPDIR": scratch}


@cache
def roots() -> tuple[Path, ...]:
    """Return the real folders of Python and its packages outside /usr."""
    places = {Path(place).resolve() for place in _list_python_folders()}
    program = Path(interpreter()).resolve()
    places.add(program.parents[1] if program.parent.name == "bin" else program.parent)
    # even for an interpreter near the root, never show the whole machine
    wanted = sorted(p for p in places if p != Path("/") and not p.is_relative_to("/usr"))
    return tuple(p for p in wanted if not any(q in p.parents for q in wanted))


@cache
def links() -> Mapping[str, str]:
    """Return links to Python and its packages outside all visible folders, with targets."""
    found: dict[str, str] = {}
    for place in (interpreter(), *_list_python_folders()):
        found |= _follow_links(place)
    places = (*map(Path, SYSTEM), *roots())
    return {link: target for link, target in found.items() if not within(Path(link), places)}


def aliases() -> tuple[str, ...]:
    """Return Python's folders by their own names, possibly links."""
    return tuple(str(place) for place in _list_python_folders() if place != "/")


def _list_python_folders() -> tuple[str, ...]:
    return sys.base_prefix, sys.base_exec_prefix, sys.prefix, sysconfig.get_path("purelib")


def _follow_links(path: str) -> dict[str, str]:
    """Return the links along an absolute path, by their real places."""
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


def list_visible(*places: str) -> tuple[str, ...]:
    """Return the trees and files readable inside."""
    return (*_list_trees(), *FILES, *places)


@cache
def _list_trees() -> tuple[str, ...]:
    return tuple(str(tree) for root in (*map(Path, SYSTEM), *roots()) for tree in _without(root, PACKAGE))


@cache
def listable() -> tuple[str, ...]:
    """Return the folder of the harness if it holds other packages: Python must list it to import them."""
    return (str(PACKAGE.parent),) if within(PACKAGE, (*map(Path, SYSTEM), *roots())) else ()


def within(path: Path, roots: Sequence[Path]) -> bool:
    """Return whether one of `roots` contains `path`."""
    return any(path.is_relative_to(root) for root in roots)


def _without(root: Path, hidden: Path) -> Iterator[Path]:
    if not hidden.is_relative_to(root):
        yield root
        return
    for child in sorted(root.iterdir()):
        # a link to a folder above `hidden`, such as a virtual environment's `lib64`, would expose it
        if child != hidden and not (child.is_symlink() and hidden.resolve().is_relative_to(child.resolve())):
            yield from _without(child, hidden)
