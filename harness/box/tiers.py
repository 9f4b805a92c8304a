"""Which isolation this machine offers, found by trying it, and the command lines that use it."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path

BOOT = Path(__file__).parent / "boot"

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


class Tier(StrEnum):
    """How a submission is held."""

    BUBBLEWRAP = "bubblewrap"
    """Own user, process, network, IPC and host-name namespaces; read-only files; rlimits."""
    RLIMITS = "rlimits"
    """A separate process with rlimits and nothing else: no protection against hostile code."""

    @property
    def promise(self) -> str:
        """What the tier holds and what it does not, in a sentence."""
        if self is Tier.BUBBLEWRAP:
            return "namespaces, read-only files, no network, limited scratch space and memory"
        return "limited memory and time only: files, network and other processes are within the answer's reach"


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
    """How to start a process in the box, and the paths that hold inside it."""

    prefix: tuple[str, ...]
    folder: str
    boot: str
    scratch: str
    extra: Mapping[str, str]


def interpreter() -> str:
    """The interpreter that runs in the box: the one that runs the harness."""
    return sys.executable


def prepare(tier: Tier, placement: Placement, scratch: Path) -> Launch:
    """The launch for `placement` in `tier`; `scratch` is used only where nothing is mounted."""
    if tier is Tier.RLIMITS:
        extra = {name: str(path) for name, path in ({**placement.extra, **placement.writable}).items()}
        return Launch((), str(placement.folder), str(BOOT), str(scratch), extra)
    extra = {name: f"/extra/{name}" for name in (*placement.extra, *placement.writable)}
    binds = [*_interpreter_binds(), "--ro-bind", str(BOOT), "/boot", "--ro-bind", str(placement.folder), "/submission"]
    for name, path in placement.extra.items():
        binds += ["--ro-bind", str(path), extra[name]]
    for name, path in placement.writable.items():
        binds += ["--bind", str(path), extra[name]]
    size = str(placement.scratch_mib << 20)
    command = (*_namespaces(), *_system(size, placement.devices), *binds, "--remount-ro", "/", "--chdir", "/tmp", "--")
    return Launch(command, "/submission", "/boot", "/tmp", extra)


def environment(scratch: str) -> dict[str, str]:
    """The scrubbed environment of everything that runs in the box."""
    return ENVIRONMENT | {"HOME": scratch, "TMPDIR": scratch}


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a session of its own, with all that is left in its group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@cache
def detect() -> Tier:
    """The strongest tier that works here, by starting an interpreter in it."""
    return Tier.BUBBLEWRAP if why_no_bubblewrap() is None else Tier.RLIMITS


@cache
def why_no_bubblewrap() -> str | None:
    """None when bubblewrap holds an interpreter here, else the reason in a line."""
    if shutil.which("bwrap") is None:
        return "bwrap is not on PATH; install the package `bubblewrap`"
    launch = prepare(Tier.BUBBLEWRAP, Placement(BOOT), BOOT)
    command = [*launch.prefix, interpreter(), "-I", "-S", "-c", "pass"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=20, env=environment("/tmp"), check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bwrap did not start: {error}"
    words = done.stderr.decode(errors="replace").strip().splitlines()
    return None if done.returncode == 0 else f"bwrap failed: {words[-1] if words else done.returncode}"


def _namespaces() -> Sequence[str]:
    return (
        "bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
        "--unshare-cgroup-try", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
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
        "--size", "65536", "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
    )  # fmt: skip


@cache
def _interpreter_binds() -> tuple[str, ...]:
    """Mounts for the interpreter and its packages, with the harness itself masked."""
    places = {
        Path(sys.base_prefix),
        Path(sys.prefix),
        Path(sysconfig.get_path("purelib")),
        Path(interpreter()).resolve().parents[1],
    }
    wanted = sorted(p for p in places if not p.is_relative_to("/usr"))
    binds = [part for p in wanted if not any(q in p.parents for q in wanted) for part in ("--ro-bind", str(p), str(p))]
    package = Path(__file__).parents[1]
    if any(package.is_relative_to(p) for p in (*wanted, Path("/usr"))):
        binds += ["--size", "4096", "--tmpfs", str(package)]
    return tuple(binds)
