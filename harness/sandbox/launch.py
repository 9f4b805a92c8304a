"""The command lines and the fences that put a process into the box."""

import contextlib
import os
import secrets
import shutil
import stat
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from harness.errors import BoxError
from harness.sandbox.boot import landlock
from harness.sandbox.tiers import Tier

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
UIDS = range(61_184, 65_520)
"""User ids that packages and people do not get; those above are special."""

HARMLESS = (
    *("chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat"),
    *("utime", "utimes", "utimensat", "futimesat"),
)
"""System calls on files that can do nothing where every file that lasts is mounted read-only."""


@dataclass(frozen=True)
class Placement:
    """What the box shows, and where.

    Attributes:
        folder: the submission's files, read-only inside.
        extra: more read-only folders by name.
        writable: folders that what runs inside may write, by name.
        scratch_mib: size of the writable /tmp.
        devices: device files, and read-only folders their driver needs, at the paths they have here. A driver runs
            in the kernel: what is shown one is held less well.
    """

    folder: Path
    extra: Mapping[str, Path] = field(default_factory=dict)
    writable: Mapping[str, Path] = field(default_factory=dict)
    scratch_mib: int = 16
    devices: Sequence[Path] = ()


@dataclass(frozen=True)
class Launch:
    """How to start a process in the box, and the paths that hold inside it.

    Attributes:
        prefix: words before the command line.
        folder: of the submission.
        boot: of our own files.
        scratch: writable, and nothing in it lasts.
        extra: further folders by name.
        tier: how it is held.
        uid: the user id to change to; None to stay.
        writable: what may be written besides the scratch folder.
        devices: device files shown on request.
    """

    prefix: tuple[str, ...]
    folder: str
    boot: str
    scratch: str
    extra: Mapping[str, str]
    tier: Tier
    uid: int | None
    writable: tuple[str, ...]
    devices: tuple[str, ...]

    @property
    def shown(self) -> tuple[str, ...]:
        """Trees and files that may be read inside."""
        places = (*_trees(), *FILES, self.boot, self.folder, *self.extra.values())
        return (*places, *(d for d in self.devices if not d.startswith("/dev/")))

    def fence(self, profile: Literal["run", "build"], rlimits: Mapping[str, int], scratch: str = "") -> dict[str, Any]:
        """The plan that the inside applies before anything of the submission is loaded."""
        proc = () if not self.tier.namespaces else OF_PROC if profile == "run" else ("/proc",)
        devices = (*DEVICES, *(d for d in self.devices if d.startswith("/dev/")))
        places = {
            "readable": [*self.shown, *proc],
            "writable": [scratch or self.scratch, *(["/dev/shm"] if self.tier.namespaces else []), *self.writable],
            "devices": list(devices),
            "listable": _listable(),
        }
        held = self.tier.namespaces or landlock.abi() >= 6
        return {
            "profile": profile,
            "rlimits": dict(rlimits),
            "uid": self.uid,
            "landlock": places if self.tier.fenced and landlock.abi() else None,
            "seccomp": self.tier.fenced,
            "notify": profile == "run",
            "allow": [
                *(HARMLESS if self.tier.namespaces else ()),
                *(("kill", "tkill", "tgkill") if profile == "build" and held else ()),
                *(("memfd_create", "ioctl", "mlock") if self.devices else ()),
            ],
        }


def interpreter() -> str:
    """The interpreter that runs in the box: the one that runs the harness."""
    return sys.executable


def environment(scratch: str) -> dict[str, str]:
    """The scrubbed environment of everything that runs in the box."""
    return ENVIRONMENT | {"HOME": scratch, "TMPDIR": scratch}


def prepare(tier: Tier, placement: Placement, scratch: Path, capabilities: Sequence[str] = ()) -> Launch:
    """The launch for `placement` in `tier`.

    Args:
        tier: how it is held.
        placement: what is shown.
        scratch: the writable folder where nothing is mounted.
        capabilities: what our own process inside needs besides those to change its user id.

    Raises:
        BoxError: what the tier starts with is gone since it was chosen.
    """
    uid = _uid(tier, placement)
    if uid is not None:
        _open_up(placement.folder)
    folders = {**placement.extra, **placement.writable}
    for path in (*placement.writable.values(), *([] if tier.namespaces else [scratch])):
        if uid is not None:
            _give(path, uid)
    devices = tuple(map(str, placement.devices))
    if not tier.namespaces:
        extra = {name: str(path) for name, path in folders.items()}
        writable = tuple(map(str, placement.writable.values()))
        return Launch((), str(placement.folder), str(BOOT), str(scratch), extra, tier, uid, writable, devices)
    extra = {name: f"/extra/{name}" for name in folders}
    binds = [*_interpreter_binds(), "--ro-bind", str(BOOT), "/boot", "--ro-bind", str(placement.folder), "/submission"]
    binds += ["--perms", "0755", "--dir", "/extra"]
    for name, path in placement.extra.items():
        binds += ["--ro-bind", str(path), extra[name]]
    for name, path in placement.writable.items():
        binds += ["--bind", str(path), extra[name]]
    size = str(placement.scratch_mib << 20)
    system = _system(size, placement.devices)
    command = (*_namespaces(capabilities), *system, *binds, "--remount-ro", "/", "--chdir", "/tmp", "--")
    writable = tuple(extra[name] for name in placement.writable)
    return Launch(command, "/submission", "/boot", "/tmp", extra, tier, uid, writable, devices)


def _uid(tier: Tier, placement: Placement) -> int | None:
    """A user id of its own, where we may give one and it can still reach what it is shown."""
    if os.geteuid() != 0 or not tier.fenced:
        return None
    reached = (*map(str, roots()), str(BOOT), str(placement.folder.parent))
    if not tier.namespaces and not all(map(_open_to_all, reached)):
        return None
    # drawn, not counted: other graders take theirs from the same few, and none should meet another's
    return _own_uid(os.getpid())


@cache
def _own_uid(grader: int) -> int:
    """One for all boxes of a process: what one compiler wrote into a folder of ours, the next may change."""
    return secrets.choice(UIDS)


@cache
def _open_to_all(path: str) -> bool:
    """Whether every folder down to `path` lets every user through."""
    return all(parent.stat().st_mode & 0o001 for parent in (*Path(path).parents, Path(path)) if parent.is_dir())


def _give(folder: Path, uid: int) -> None:
    """Make a user id the owner of a folder of ours and of the folders we laid out in it."""
    for directory, _, _ in os.walk(folder):
        os.chown(directory, uid, uid, follow_symlinks=False)


def _open_up(folder: Path) -> None:
    """Let every user read a copy of ours: a private temporary folder is closed to the box's own user id."""
    for _, _, names, place in os.fwalk(folder):
        _add_mode(place, 0o555)
        for name in names:
            # whoever may write there may put a link in a file's place at any moment
            with contextlib.suppress(OSError):
                file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
                try:
                    _add_mode(file, 0o444)
                finally:
                    os.close(file)


def _add_mode(fd: int, wanted: int) -> None:
    mode = stat.S_IMODE(os.fstat(fd).st_mode)
    if mode & wanted != wanted:
        os.fchmod(fd, mode | wanted)


def _bubblewrap() -> str:
    found = shutil.which("bwrap")
    if found is None:
        raise BoxError("bwrap is not on PATH any more\n  try: install the package `bubblewrap`")
    return found


def _namespaces(capabilities: Sequence[str]) -> Sequence[str]:
    needed = (*capabilities, *(("CAP_SETUID", "CAP_SETGID") if os.geteuid() == 0 else ()), "CAP_SETPCAP")
    return (
        _bubblewrap(), *(() if os.geteuid() == 0 else ("--unshare-user",)), "--unshare-pid", "--unshare-net",
        "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--new-session",
        "--cap-drop", "ALL", *(part for name in needed for part in ("--cap-add", name)),
    )  # fmt: skip


def _system(scratch_bytes: str, devices: Sequence[Path] = ()) -> Sequence[str]:
    links = [
        part
        for name in ("bin", "lib", "lib64", "lib32")
        if (path := Path("/", name)).exists()
        for part in (
            ("--symlink", os.readlink(path), f"/{name}") if path.is_symlink() else ("--ro-bind", str(path), str(path))
        )
    ]
    shown = [
        part
        for path in devices
        for part in ("--dev-bind" if path.is_relative_to("/dev") else "--ro-bind", str(path), str(path))
    ]
    return (
        "--ro-bind", "/usr", "/usr", *links, "--dir", "/etc", "--proc", "/proc", "--dev", "/dev", *shown,
        "--size", scratch_bytes, "--perms", "1777", "--tmpfs", "/tmp",
        "--size", "65536", "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
    )  # fmt: skip


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


@cache
def _interpreter_binds() -> tuple[str, ...]:
    """Mounts for the interpreter and its packages, with the harness itself masked."""
    # said one by one: the parents that bubblewrap makes by itself let nobody but their owner through
    parents = sorted({parent for p in roots() for parent in p.parents} - {Path("/")})
    binds = [part for p in parents for part in ("--perms", "0755", "--dir", str(p))]
    binds += [part for p in roots() for part in ("--ro-bind", str(p), str(p))]
    if _within(PACKAGE, (*roots(), Path("/usr"))):
        binds += ["--size", "4096", "--tmpfs", str(PACKAGE)]
    return tuple(binds)


@cache
def _trees() -> tuple[str, ...]:
    """The system's and the interpreter's trees; where the harness is installed in one, those around it."""
    return tuple(str(tree) for root in (*map(Path, SYSTEM), *roots()) for tree in _without(root, PACKAGE))


@cache
def _listable() -> list[str]:
    """The folder that the harness is installed in among other packages: Python imports nothing from one it cannot list.

    What the harness's own files hold stays closed.
    """
    return [str(PACKAGE.parent)] if _within(PACKAGE, (*map(Path, SYSTEM), *roots())) else []


def _within(path: Path, roots: Sequence[Path]) -> bool:
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
