"""Each layer leaves gaps that the other closes: files and memory by path here, all that has no path there."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.sandbox.inside import landlock_rules
from tests.sandbox import fenced

pytestmark = [
    fenced.needs_landlock,
    fenced.needs_seccomp,
    pytest.mark.skipif(landlock_rules.abi() < 6, reason="the table is that of Landlock version 6 and later"),
]

# what an attempt does, and whether Landlock alone and the filter alone stop it
TABLE = {
    "read a file": ("open(W['secret'])", True, False),
    "write a file": ("open(W['secret'], 'a')", True, False),
    "replace a file": ("os.rename(W['scratch'] + '/mine', W['secret'])", True, False),
    "leave a file": ("open(W['folder'] + '/poison', 'x')", True, False),
    "follow a link": ("open(W['scratch'] + '/link')", True, False),
    "open the parent's memory": ("open(f\"/proc/{W['parent']}/mem\", 'rb')", True, False),
    "read the parent's environment": ("open(f\"/proc/{W['parent']}/environ\")", True, False),
    "list the parent's files": ("os.listdir(f\"/proc/{W['parent']}/fd\")", True, False),
    "change a file's mode": ("os.chmod(W['secret'], 384)", False, True),
    "change a file's date": ("os.utime(W['secret'])", False, True),
    "change a file's attributes": ("os.setxattr(W['secret'], 'user.x', b'x')", False, True),
    "lock a shared file": ("fcntl.flock(W['shared'], fcntl.LOCK_EX | fcntl.LOCK_NB)", False, True),
    "lock a part of a file": ("fcntl.lockf(W['shared'], fcntl.LOCK_EX | fcntl.LOCK_NB)", False, True),
    "reach a socket file": ("socket.socket(socket.AF_UNIX).connect(W['unix'])", False, True),
    "send a datagram": ("socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))", False, True),
    "ask the kernel's netlink": ("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)", False, True),
    "limit the parent": ("resource.prlimit(W['parent'], resource.RLIMIT_CPU, W['cpu'])", False, True),
    "slow the parent": ("os.setpriority(os.PRIO_PROCESS, W['parent'], W['nice'])", False, True),
    "move the parent": ("os.sched_setaffinity(W['parent'], W['cores'])", False, True),
    "leave a shared segment": ("call('shmctl', call('shmget', 0, 4096, 0o600), 0, 0)", False, True),
    "leave a key": ("call('keyctl', 0, -1, 0)", False, True),
    "hide memory in a file": ("os.memfd_create('x')", False, True),
    "leave a daemon": ("os.fork() or os._exit(0)", False, True),
    "run a program": ("subprocess.run(['/bin/true'])", False, True),
    "own a network": ("call('unshare', 0x10000000)", False, True),
    "watch its own page faults": ("call('userfaultfd', 1)", False, True),
    "a ring of calls": ("call('io_uring_setup', 1, ctypes.create_string_buffer(120))", False, True),
    "signal the parent": ("os.kill(W['parent'], 0)", True, True),
    "signal by descriptor": ("fcntl.fcntl(W['shared'], fcntl.F_SETOWN, W['parent'])", False, True),
    "trace the parent": ("call('ptrace', 0x4206, W['parent'], 0, 0)", True, True),
    "copy from the parent": ("call('process_vm_readv', W['parent'], BUFFER, 1, BUFFER, 1, 0)", True, True),
    "reach a port": ("socket.socket().connect(('127.0.0.1', W['tcp']))", True, True),
    "reach an abstract socket": ("socket.socket(socket.AF_UNIX).connect(chr(0) + W['abstract'])", True, True),
}
# not every kernel offers these to an ordinary process, so that the naked run may fail too
NOT_EVERYWHERE = {"watch its own page faults", "a ring of calls", "leave a key", "own a network"}

_BEFORE = """
W = WORLD
for name in ("secret", "mine", "poison"):
    if os.path.lexists(W[name]):
        os.unlink(W[name])
for name in ("secret", "mine"):
    open(W[name], "x").close()
W["parent"] = os.getppid()
W["cpu"], W["nice"] = resource.prlimit(W["parent"], resource.RLIMIT_CPU), os.getpriority(os.PRIO_PROCESS, W["parent"])
W["cores"] = os.sched_getaffinity(W["parent"])
HERE = ctypes.create_string_buffer(8)
BUFFER = struct.pack("=QQ", ctypes.addressof(HERE), 8)  # a forked child finds its parent's memory at its own addresses
W["shared"] = os.open(W["locked"], os.O_RDWR)
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """A secret, files outside and inside, and listeners of ours."""
    scratch, folder = tmp_path / "scratch", tmp_path / "folder"
    scratch.mkdir()
    folder.mkdir()
    (scratch / "link").symlink_to(folder / "secret")
    (folder / "locked").touch()
    name = f"harness-both-{os.getpid()}"
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listeners = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2)]
        for listener, address in zip(listeners, ("\0" + name, str(folder / "s")), strict=True):
            listener.bind(address)
            listener.listen()
        yield {
            "secret": str(folder / "secret"), "folder": str(folder), "scratch": str(scratch), "abstract": name,
            "locked": str(folder / "locked"), "mine": str(scratch / "mine"), "poison": str(folder / "poison"),
            "unix": str(folder / "s"), "tcp": tcp.getsockname()[1],
        }  # fmt: skip


def stopped(world: dict[str, Any], **layers: Any) -> dict[str, bool]:
    actions = {name: action for name, (action, _, _) in TABLE.items()}
    plan = fenced.plan(scratch=Path(world["scratch"]), **layers)
    return {name: answer != "done" for name, answer in fenced.answers(actions, plan, world, _BEFORE).items()}


def test_both_together_stop_everything(world: dict[str, Any]) -> None:
    assert stopped(world) == dict.fromkeys(TABLE, True)


def test_without_either_everything_succeeds(world: dict[str, Any]) -> None:
    naked = stopped(world, landlock=None, seccomp=False)
    assert {name for name, failed in naked.items() if failed} <= NOT_EVERYWHERE


def test_landlock_alone_stops_what_the_table_says(world: dict[str, Any]) -> None:
    alone = stopped(world, seccomp=False)
    stated = {name: by_landlock for name, (_, by_landlock, _) in TABLE.items() if name not in NOT_EVERYWHERE}
    assert {name: alone[name] for name in stated} == stated


def test_the_filter_alone_stops_what_the_table_says(world: dict[str, Any]) -> None:
    assert stopped(world, landlock=None) == {name: by_filter for name, (_, _, by_filter) in TABLE.items()}


def test_each_layer_has_gaps_that_the_other_closes() -> None:
    assert sum(landlock is False for _, landlock, _ in TABLE.values()) > 15
    assert sum(not listed for _, _, listed in TABLE.values()) > 5
    assert all(landlock is not False or listed for _, landlock, listed in TABLE.values())
