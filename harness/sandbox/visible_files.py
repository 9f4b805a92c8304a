"""What a sandbox shows of this machine: the interpreter, the system's files, a scrubbed environment."""

import sys
import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

BOOT = Path(__file__).parent / "boot"
PACKAGE = Path(__file__).parents[1]

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
    return sys.executable


def environment(scratch: str) -> dict[str, str]:
    """The scrubbed environment of everything that runs in the box."""
    return ENVIRONMENT | {"HOME": scratch, "TMPDIR": scratch}


@cache
def roots() -> tuple[Path, ...]:
    """Where the interpreter and its packages lie, outside /usr."""
    places = {
        Path(sys.base_prefix),
        Path(sys.prefix),
        Path(sysconfig.get_path("purelib")),
        Path(interpreter()).resolve().parents[1],
    }
    wanted = sorted(p for p in places if not p.is_relative_to("/usr"))
    return tuple(p for p in wanted if not any(q in p.parents for q in wanted))


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
