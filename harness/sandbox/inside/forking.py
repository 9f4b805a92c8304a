"""The process that workers fork from, with Python and NumPy loaded once.

It runs none of any submission. Each worker gets its own namespaces and scratch space, if permitted, then the fence, and
only then reads from the parent. If this process cannot create several process namespaces, a holder per worker does.

Arguments: the descriptor of the parent's socket, and the parent's process id, or 0 if a pid namespace ends this process
with its parent.
"""

import array
import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import socket
import sys
from typing import Any

MODULES = "confine descendants landlock_rules process_control seccomp served syscalls wire worker"
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import dataclasses  # noqa: E402, F401

import confine  # noqa: E402
import descendants  # noqa: E402
import numpy.fft  # noqa: E402
import numpy.linalg  # noqa: E402
import numpy.random  # noqa: E402
import numpy.typing  # noqa: E402
import process_control  # noqa: E402
import wire  # noqa: E402
import worker  # noqa: E402

del sys.path[0]
for _name in MODULES.split():  # a submission may use these module names itself
    sys.modules.pop(_name, None)

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID = 0x00020000, 0x08000000, 0x20000000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 0x1000, 0x4000, 0x40000
FIRST_PID = 1
"""Process id of a worker in its own namespace."""
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Fork a worker per request until the parent hangs up."""
    process_control.prctl(process_control.SET_PDEATHSIG, signal.SIGKILL)
    process_control.prctl(process_control.SET_DUMPABLE, 0)  # no worker may read this process's memory
    if sys.argv[2] not in ("0", str(os.getppid())):
        return
    control = socket.socket(fileno=int(sys.argv[1]))
    children = Children()
    gc.freeze()
    while children.wait_beside(control):
        data, ancillary, _, _ = control.recvmsg(wire.MESSAGE_LIMIT, socket.CMSG_SPACE(3 * 4))
        if not data:
            return
        fds = [fd for _, _, raw in ancillary for fd in array.array("i", raw)]
        request = json.loads(data)
        if request["namespaces"]:
            confine.prepare(request["fence"], FIRST_PID)
        children.fork(request, control, *fds)


class Children:
    """Living children of this process."""

    def __init__(self) -> None:
        self.own = os.getpid()
        self.home = os.open("/proc/self/ns/pid", os.O_RDONLY)
        self.direct = int(_libc.setns(self.home, CLONE_NEWPID)) == 0  # bubblewrap denies it to an ordinary user
        # by pidfd: process id, and the descriptor for its wait status or -1
        self.alive: dict[int, tuple[int, int]] = {}

    def wait_beside(self, control: socket.socket) -> bool:
        """Report ended children until the parent sends something."""
        poll = select.poll()
        for fd in (control.fileno(), *self.alive):
            poll.register(fd, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll()}
            for fd in ready & self.alive.keys():
                poll.unregister(fd)
                self._reap(fd)
            if control.fileno() in ready:
                return True

    def fork(self, request: dict[str, Any], control: socket.socket, channel: int, output: int, status: int) -> None:
        """Fork a worker in its own process namespace, or else its holder."""
        direct = request["namespaces"] and self.direct
        try:
            if direct:
                # return first: `unshare` fails while children would go to another namespace
                _check(_libc.setns(self.home, CLONE_NEWPID), "setns")
                _check(_libc.unshare(CLONE_NEWPID), "unshare")
            pid = os.fork()
            if pid == 0:
                control.close()
                if direct:
                    begin(request, channel, output)
                hold(request, self.own, channel, output, status)
            self.alive[os.pidfd_open(pid)] = pid, os.dup(status) if direct else -1
        except OSError as error:
            _say(channel, error)
        for fd in (channel, output, status):
            os.close(fd)

    def _reap(self, pidfd: int) -> None:
        pid, status = self.alive.pop(pidfd)
        wait_status = os.waitpid(pid, 0)[1]
        os.close(pidfd)
        if status >= 0:
            with contextlib.suppress(OSError):  # nobody waits any more
                os.write(status, f"{wait_status}".encode())
            os.close(status)


def begin(request: dict[str, Any], control: int, output: int) -> None:
    """Create a worker's other namespaces and become it; never returns."""
    try:
        separate(CLONE_NEWNS | CLONE_NEWIPC, request["scratch_bytes"], request["interpreter"], request["links"])
        work(request, 0, control, output)
    except BaseException as error:  # sent to the parent, which waits for a first message
        _say(control, error)
    os._exit(0)


def hold(request: dict[str, Any], server: int, control: int, output: int, status: int) -> None:
    """Create a worker's namespaces, fork it, and report its status; never returns."""
    own = os.getpid()
    try:
        if request["namespaces"]:
            namespaces = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID
            separate(namespaces, request["scratch_bytes"], request["interpreter"], request["links"])
        wait_status = descendants.keep(lambda: work(request, own, control, output), server, (control, output))
        if wait_status is not None:
            os.write(status, f"{wait_status}".encode())
    except BaseException as error:  # sent to the parent, which waits for a first message
        _say(control, error)
    os._exit(0)


def separate(namespaces: int, scratch_bytes: int, interpreter: list[str], links: dict[str, str]) -> None:
    """Leave earlier workers' namespaces, and so their remains."""
    _check(_libc.unshare(namespaces), "unshare")
    _check(_libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "make mounts private")
    for place, size in ((b"/tmp", scratch_bytes), (b"/dev/shm", 1 << 16)):
        # keep an interpreter below the new mount reachable
        below = {path: os.open(path, os.O_PATH) for path in interpreter if path.startswith(f"{place.decode()}/")}
        # even an empty file takes kernel memory
        options = f"size={size},nr_inodes={max(size >> 12, 1024)},mode=1777".encode()
        _check(_libc.mount(b"tmpfs", place, b"tmpfs", MS_NOSUID | MS_NODEV, options), f"mount {place.decode()}")
        for path, fd in below.items():
            os.makedirs(path)
            _check(_libc.mount(b"/proc/self/fd/%d" % fd, path.encode(), None, MS_BIND | MS_REC, None), f"bind {path}")
            os.close(fd)
        for link, target in links.items():
            if link.startswith(f"{place.decode()}/"):
                os.makedirs(os.path.dirname(link), exist_ok=True)
                os.symlink(target, link)


def work(request: dict[str, Any], holder: int, control: int, output: int) -> None:
    """Become the worker; never returns."""
    process_control.prctl(process_control.SET_PDEATHSIG, signal.SIGKILL)
    # a parent without root reads the paths that the worker opens
    process_control.prctl(process_control.SET_DUMPABLE, 1)
    status, greeted = 70, False
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.dup2(control, 3)
        os.closerange(4, 1 << 16)
        os.environ.update(request["environment"])
        os.chdir(request["scratch"])
        # without this, failing imports would search folders that the box does not show
        shown = (*request["interpreter"], "/usr")
        sys.path[:] = [p for p in sys.path if any(f"{os.path.realpath(p)}/".startswith(f"{root}/") for root in shown)]
        control = 3
        channel = socket.socket(fileno=control)
        if request["own_proc"]:
            # fails for an ordinary user if parts of /proc are masked
            _libc.mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV, None)
        numpy.random.seed()  # workers would otherwise share this process's random state
        listener = confine.enclose(request["fence"])
        if not request["namespaces"] and os.getppid() != holder:
            os._exit(status)  # the holder died before PDEATHSIG was set
        worker.greet(channel, listener)
        greeted = True
        worker.Worker(channel).serve()
        status = 0
    except BaseException as error:
        if not greeted:
            _say(control, error)
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
    os._exit(status)


def _say(control: int, error: BaseException) -> None:
    with contextlib.suppress(OSError):
        os.write(control, wire.encode({"id": 0, "raised": [type(error).__name__, str(error)[:500], []]}))


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    main()
