"""Seccomp notifications of forbidden system calls and file openings."""

import errno
import fcntl
import os
import posixpath
import struct
from collections import Counter
from collections.abc import Sequence
from functools import cache

from harness.model import Signal, SignalKind
from harness.sandbox.accounting import process_stats
from harness.sandbox.confinement.protocol import Confinement, lies_under
from harness.sandbox.inside import seccomp, syscalls

# linux/seccomp.h: struct seccomp_notif (id, pid, flags, data), struct seccomp_notif_resp, and their requests
_NOTICE = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_RECEIVE, _SEND, _VALID = 0xC0502100, 0xC0182101, 0x40082102
_CONTINUE = 1

OPENING = {"open": 0, "openat": 1, "openat2": 1}
"""System calls that open a file, with the position of the path among their arguments."""
PATH_LIMIT = 4096
ADDRESS_LIMIT = (1 << 63) - 1 - PATH_LIMIT
"""Highest address to read a path from; the kernel owns those beyond, less the longest path."""
KINDS_KEPT = 50

_IN_PASSING = """
    chmod fchmod fchmodat chown fchown lchown fchownat utime utimes utimensat futimesat flock fcntl ioctl prctl
    personality setpriority ioprio_set mlock mlock2 mlockall sched_setaffinity sched_setscheduler sched_setparam
    sched_setattr inotify_init inotify_init1 setxattr lsetxattr fsetxattr statfs fstatfs sync syncfs fallocate
    set_mempolicy umask
"""
ORDINARY = frozenset(_IN_PASSING.split())
"""System calls refused without a signal, because honest libraries make them in passing."""
BY_DRIVERS = frozenset({"fork", "vfork", "clone", "setsockopt"})
"""Likewise for a GPU's driver, which starts a program that looks for device files, and sets up a socket."""
SEARCHED = ("/etc", "/sys", "/proc", "/dev", "/usr", "/bin", "/lib", "/lib32", "/lib64", "/run", "/var", "/opt")
"""Folders in which honest libraries look for files that may be missing."""
SHARED = ("/tmp", "/var/tmp")
"""Folders in which a box may have files of its own, unrelated to the machine's files of the same names."""
WANTED = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh", "/var/log", "/var/spool", "/dev/mem", "/dev/kmem")
_NSCD = (1, 0o2004001)  # AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK: the C library asks for a name service


class Notices:
    """Responds to a worker's notifications, and records those without an honest cause.

    A forbidden call fails with EPERM. An opening continues, and the kernel decides. The worker can change its path in
    memory meanwhile, which can falsify a signal but opens no file.

    A thread may start while there are fewer than `threads`; its flags are in registers, safe from change. Simultaneous
    starts may each pass, but never to twice as many.
    """

    def __init__(self, fd: int, confinement: Confinement, threads: int | None = None) -> None:
        os.set_blocking(fd, False)
        self._ordinary = ORDINARY | BY_DRIVERS if confinement.driver else ORDINARY
        self.fd = fd
        self._threads = threads
        self._confinement = confinement
        self._shown = tuple(place for place in confinement.readable if place not in SHARED)
        self._seen: Counter[Signal] = Counter()
        self._closed: dict[str, None] = {}

    @property
    def signals(self) -> list[Signal]:
        """The distinct signals."""
        return list(self._seen)

    @property
    def closed(self) -> tuple[str, ...]:
        """Existing files outside the rules that a driver's worker opened."""
        return tuple(self._closed)

    def serve(self) -> None:
        """Respond to a pending notification."""
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(self.fd, _RECEIVE, notice)
        except OSError:  # the waiting process is gone
            return
        id, pid, _, number, _, _, *arguments = _NOTICE.unpack(notice)
        name = _names().get(number, f"system call {number}")
        answer = _ANSWER.pack(id, 0, -errno.EPERM, 0)
        if name in OPENING:
            path = self._resolve_path(name, pid, arguments)
            # if the thread has ended, its id may be another's by now, and so may the path
            if path is not None and self._waits(id):
                self._note_opening(path, pid)
                if self._confinement.driver:
                    self._keep_closed(path, pid, name, arguments)
            answer = _ANSWER.pack(id, 0, 0, _CONTINUE)
        elif name == "clone" and self._threads is not None and _starts_thread(arguments[0]):
            fits = 0 < process_stats.threads(pid) < self._threads
            answer = _ANSWER.pack(id, 0, 0, _CONTINUE) if fits else _ANSWER.pack(id, 0, -errno.EAGAIN, 0)
        elif name not in self._ordinary and not (name == "socket" and (arguments[0], arguments[1]) == _NSCD):
            self._note(SignalKind.SYSTEM_CALL, _describe_call(name, arguments))
        try:
            fcntl.ioctl(self.fd, _SEND, answer)
        except OSError:  # it was killed meanwhile
            return

    def close(self) -> None:
        """Close the listener: later notifications fail in the worker."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def _waits(self, id: int) -> bool:
        try:
            fcntl.ioctl(self.fd, _VALID, struct.pack("=Q", id))
        except OSError:
            return False
        return True

    def _resolve_path(self, name: str, pid: int, arguments: Sequence[int]) -> str | None:
        path = _path(pid, arguments[OPENING[name]])
        if path is None:
            return None
        if not path.startswith("/"):
            path = posixpath.join(_folder(pid, None if name == "open" else arguments[0]), path)
        return posixpath.normpath(path)

    def _note_opening(self, path: str, pid: int) -> None:
        if lies_under(path, WANTED) or _belongs_to_another(path, pid) or not self._is_innocent(path):
            self._note(SignalKind.UNSEEN_FILE, path)

    def _keep_closed(self, path: str, pid: int, name: str, arguments: Sequence[int]) -> None:
        path = path.replace(f"/proc/{pid}/", "/proc/self/", 1)
        writing = name != "openat2" and bool(arguments[OPENING[name] + 1] & os.O_ACCMODE)
        closed = not self._confinement.opens(path, writing=writing) and os.path.lexists(path)
        if closed and len(self._closed) < KINDS_KEPT:
            self._closed[path] = None

    def _is_innocent(self, path: str) -> bool:
        if lies_under(path, self._shown):
            return True
        for place in SHARED:
            if lies_under(path, (place,)):
                # a file in a subfolder that also exists out here is hardly the box's own
                return path.count("/") <= place.count("/") + 1 or not os.path.lexists(path)
        return lies_under(path, SEARCHED)

    def _note(self, kind: SignalKind, detail: str) -> None:
        signal = Signal(kind=kind, detail="".join(c if c.isprintable() else "?" for c in detail[:200]))
        if signal in self._seen or len(self._seen) < KINDS_KEPT:
            self._seen[signal] += 1


def _starts_thread(flags: int) -> bool:
    return bool(flags & seccomp.CLONE_THREAD) and not flags & seccomp.CLONE_NEVER


@cache
def _names() -> dict[int, str]:
    return {number: name for name, number in syscalls.numbers(os.uname().machine).items()}


def _path(pid: int, address: int) -> str | None:
    if address > ADDRESS_LIMIT:
        return None
    try:
        memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # stop at the end of the page: the next one may be unmapped
        data = os.pread(memory, min(PATH_LIMIT, 4096 - address % 4096), address)
        if b"\0" not in data:
            data += os.pread(memory, PATH_LIMIT, address + len(data))
    except OSError:
        return None
    finally:
        os.close(memory)
    return data.partition(b"\0")[0].decode(errors="replace")


def _folder(pid: int, descriptor: int | None) -> str:
    here = descriptor is None or descriptor & 0xFFFFFFFF == 0xFFFFFF9C  # AT_FDCWD
    try:
        return os.readlink(f"/proc/{pid}/cwd" if here else f"/proc/{pid}/fd/{descriptor}")
    except OSError:
        return "/tmp"


def _belongs_to_another(path: str, pid: int) -> bool:
    first = path.removeprefix("/proc/").partition("/")[0]
    return path.startswith("/proc/") and first.isdigit() and first not in ("1", str(pid))


def _describe_call(name: str, arguments: Sequence[int]) -> str:
    if name == "socket":
        families = {1: "AF_UNIX", 2: "AF_INET", 10: "AF_INET6", 16: "AF_NETLINK", 17: "AF_PACKET", 40: "AF_VSOCK"}
        return f"socket({families.get(arguments[0], arguments[0])})"
    return "fork" if name == "clone" else name
