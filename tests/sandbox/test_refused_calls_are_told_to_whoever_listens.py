"""With a listener, whoever holds it learns which call was tried, with which arguments, and gives the answer."""

import errno
import fcntl
import json
import os
import select
import socket
import struct
import subprocess
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.sandbox.inside import seccomp, syscalls
from tests.sandbox import fenced

pytestmark = fenced.needs_seccomp

RECEIVE, SEND, CONTINUE = 0xC0502100, 0xC0182101, 1
NAMES = {number: name for name, number in syscalls.numbers(os.uname().machine).items()}
OPENING = ("open", "openat", "openat2")

_HAND_OVER = """
socket.send_fds(control, [b"listener"], [listener])
os.close(listener)
"""


@dataclass
class Tried:
    """One call that was put before the listener."""

    name: str
    pid: int
    arguments: tuple[int, ...]
    path: str | None = None


@dataclass
class Listener:
    """Answers every call: openings go on, the rest is refused."""

    fd: int
    tried: list[Tried] = field(default_factory=list)

    def serve(self, seconds: float = 30) -> None:
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        while poll.poll(seconds * 1000)[0][1] & select.POLLIN:
            notice = bytearray(80)
            fcntl.ioctl(self.fd, RECEIVE, notice)
            id, pid, _, number, _, _, *arguments = struct.unpack("=QIIiIQ6Q", notice)
            call = Tried(NAMES[number], pid, tuple(arguments))
            if call.name in OPENING:
                call.path = _text(pid, arguments[0 if call.name == "open" else 1])
            self.tried.append(call)
            answer = (0, CONTINUE) if call.name in OPENING else (-errno.EPERM, 0)
            fcntl.ioctl(self.fd, SEND, struct.pack("=QqiI", id, 0, *answer))


def _text(pid: int, address: int) -> str:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(256).split(b"\0")[0].decode()


@contextmanager
def listening(body: str, plan: dict[str, Any], world: dict[str, Any]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process behind the fence, and the listener it handed over."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, its:
        before = f"control = socket.socket(fileno={its.fileno()})"
        words = fenced.command(_HAND_OVER + textwrap.dedent(body), plan | {"notify": True}, world, before)
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=(its.fileno(),)
        )
        its.close()
        try:
            _, fds, _, _ = socket.recv_fds(ours, 16, 1)
            yield process, fds[0]
        finally:
            process.kill()
            process.communicate()


def told(body: str, plan: dict[str, Any], world: dict[str, Any] | None = None) -> tuple[Any, list[Tried], int]:
    """What the process said, what the listener was asked, and the process's number."""
    with listening(body, plan, world or {}) as (process, fd):
        listener = Listener(fd)
        serving = threading.Thread(target=listener.serve)
        serving.start()
        out = process.communicate(timeout=60)[0]
        serving.join()
        os.close(fd)
    return json.loads(out.splitlines()[-1]), listener.tried, process.pid


@pytest.mark.parametrize("profile", [seccomp.RUN, seccomp.BUILD])
def test_the_listener_learns_who_tried_what_and_refuses_it(profile: str) -> None:
    body = "tell([attempt(call, 'socket', 2, 1, 0), attempt(call, 'ptrace', 16, 1, 0, 0)])"
    said, tried, pid = told(body, fenced.plan(profile))
    assert said == ["EPERM", "EPERM"]
    calls = [call for call in tried if call.name not in OPENING]
    assert [(call.name, call.pid, call.arguments[:2]) for call in calls] == [
        ("socket", pid, (2, 1)), ("ptrace", pid, (16, 1)),
    ]  # fmt: skip


def test_refused_arguments_are_told_too() -> None:
    said, tried, _ = told("tell([attempt(os.fork), attempt(fcntl.fcntl, 1, fcntl.F_SETOWN, 1)])", fenced.plan())
    assert said == ["EPERM", "EPERM"]
    # fork() is clone() without a thread's flag in today's C libraries
    assert [call.name for call in tried if call.name not in OPENING] in (["clone", "fcntl"], ["fork", "fcntl"])


@fenced.needs_landlock
def test_every_opening_is_told_and_left_to_the_kernel(tmp_path: Path) -> None:
    shown, secret = tmp_path / "shown", tmp_path / "secret"
    shown.mkdir()
    (shown / "file").touch()
    secret.touch()
    plan = fenced.plan(landlock={"readable": [*fenced.INTERPRETER, str(shown)], "writable": [], "devices": []})
    body = "tell([attempt(open, WORLD['shown']), attempt(open, WORLD['secret'])])"
    said, tried, _ = told(body, plan, {"shown": str(shown / "file"), "secret": str(secret)})
    assert said == ["done", "EACCES"]
    assert {str(shown / "file"), str(secret)} <= {call.path for call in tried}


def test_honest_work_tells_nothing_but_its_openings() -> None:
    body = """
        import numpy as np
        a = np.random.default_rng(0).normal(size=(50, 50))
        thread = threading.Thread(target=np.linalg.svd, args=(a,))
        thread.start(); thread.join()
        np.fft.fft(a); np.sort(a); time.sleep(0.001); os.cpu_count(); len(os.sched_getaffinity(0))
        tell("done")
    """
    said, tried, _ = told(body, fenced.plan())
    assert said == "done"
    assert [call.name for call in tried if call.name not in OPENING] == []


def test_unknown_numbers_are_answered_without_asking() -> None:
    said, tried, _ = told("tell([attempt(call, 600), attempt(call, 'clone3', 0, 0)])", fenced.plan())
    assert said == ["ENOSYS", "ENOSYS"]
    assert [call for call in tried if call.name not in OPENING] == []


def test_nothing_waits_for_a_listener_that_is_gone() -> None:
    body = "sys.stdin.read(); tell([attempt(socket.socket), attempt(open, '/dev/null')])"
    with listening(body, fenced.plan(), {}) as (process, fd):
        os.close(fd)
        out = process.communicate("", timeout=60)[0]
    assert json.loads(out.splitlines()[-1]) == ["ENOSYS", "ENOSYS"]


def test_a_listener_is_asked_for_or_there_is_none() -> None:
    assert fenced.run("tell(listener)", fenced.plan()) == -1
    assert fenced.run("tell(listener)", fenced.plan(seccomp=False, notify=True)) == -1
