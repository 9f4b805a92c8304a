"""A call that has harmless and harmful uses is permitted by its arguments."""

from pathlib import Path

import pytest

from harness.sandbox.inside import seccomp
from tests.sandbox import fenced

pytestmark = fenced.needs_seccomp

HARMFUL = {
    "own a descriptor's signals": "call('fcntl', 0, fcntl.F_SETOWN, 1)",
    "own them by thread": "call('fcntl', 0, 15, ctypes.create_string_buffer(8))",
    "choose the signal": "call('fcntl', 0, fcntl.F_SETSIG, 9)",
    "be told of changes": "call('fcntl', 0, fcntl.F_NOTIFY, 1)",
    "take a lease": "call('fcntl', 0, fcntl.F_SETLEASE, 1)",
    "grow a pipe": "call('fcntl', 0, 1031, 1 << 20)",
    "put words into the terminal": "call('ioctl', 0, 0x5412, b'x')",
    "own a socket's signals": "call('ioctl', 0, 0x8901, 0)",
    "stack a filter": "call('prctl', 22, 2, 0, 0, 0)",
    "name a tracer": "call('prctl', 0x59616d61, 1, 0, 0, 0)",
    "map without random addresses": "call('personality', 0x40000)",
    "another's limits": "call('prlimit64', PARENT, 7, None, None)",
    "signal another's thread": "call('tgkill', PARENT, PARENT, 0)",
    "new user namespace": "call('clone', 0x10000000 | 17, 0, 0, 0, 0)",
    "new network": "call('clone', 0x40000000 | 17, 0, 0, 0, 0)",
    "be a brother": "call('clone', 0x8000 | 17, 0, 0, 0, 0)",
    "internet pair": "call('socketpair', 2, 1, 0, ctypes.create_string_buffer(8))",
    "pair of datagram sockets": "call('socketpair', 1, 2, 0, ctypes.create_string_buffer(8))",
    "pair of raw sockets": "call('socketpair', 1, 3, 0, ctypes.create_string_buffer(8))",
}
HARMFUL_IN_A_RUN = {
    "fork": "os.fork()",
    "lock": "call('fcntl', 0, fcntl.F_SETLK, ctypes.create_string_buffer(32))",
    "lock by open file": "call('fcntl', 0, 37, ctypes.create_string_buffer(32))",
    "seal": "call('fcntl', 0, 1033, 1)",
    "become traceable": "call('prctl', 4, 1, 0, 0, 0)",
    "outlive the parent": "call('prctl', 1, 0, 0, 0, 0)",
    "adopt orphans": "call('prctl', 36, 1, 0, 0, 0)",
    "pair of streams": "socket.socketpair()",
}
HARMLESS = {
    "copy a descriptor": "os.dup(1)",
    "do not block": "os.set_blocking(0, False)",
    "close on exec": "os.set_inheritable(1, True)",
    "size of a terminal": "call('ioctl', 0, 0x5413, ctypes.create_string_buffer(8))",
    "bytes to read": "call('ioctl', WORLD_PIPE, 0x541B, ctypes.create_string_buffer(8))",
    "name a thread": "call('prctl', 15, b'kernel', 0, 0, 0)",
    "which persona": "call('personality', 0xffffffff)",
    "own limits": "resource.prlimit(0, resource.RLIMIT_CORE)",
    "lower own limits": "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
    "signal oneself": "signal.raise_signal(signal.SIGCONT)",
    "thread": "[t.start() or t.join() for t in [threading.Thread(target=len, args=((),))]]",
}
HARMLESS_IN_A_BUILD = {
    "fork": "os.fork() and os.wait() or os._exit(0)",
    "pair of streams": "socket.socketpair()",
    "pair of packet sockets": "socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)",
    "lock": "fcntl.lockf(WORLD_FILE, fcntl.LOCK_EX)",
    "become untraceable": "call('prctl', 4, 0, 0, 0, 0)",
    "end with the parent": "call('prctl', 1, 9, 0, 0, 0)",
    "adopt orphans": "call('prctl', 36, 1, 0, 0, 0)",
    "run": "subprocess.run(['/bin/true'], check=True)",
}


def answers(actions: dict[str, str], profile: str, tmp_path: Path, **changes: object) -> dict[str, str]:
    (tmp_path / "mine").touch()
    before = "WORLD_PIPE, _ = os.pipe(); WORLD_FILE = os.open(WORLD['file'], os.O_RDWR); PARENT = os.getppid()"
    plan = fenced.plan(profile, tmp_path, **changes)
    return fenced.answers(actions, plan, {"file": str(tmp_path / "mine")}, before)


@pytest.mark.parametrize("profile", [seccomp.RUN, seccomp.BUILD])
def test_harmful_arguments_are_refused(profile: str, tmp_path: Path) -> None:
    actions = HARMFUL | (HARMFUL_IN_A_RUN if profile == seccomp.RUN else {})
    assert answers(actions, profile, tmp_path) == dict.fromkeys(actions, "EPERM")


@pytest.mark.parametrize("profile", [seccomp.RUN, seccomp.BUILD])
def test_harmless_arguments_pass(profile: str, tmp_path: Path) -> None:
    actions = HARMLESS | (HARMLESS_IN_A_BUILD if profile == seccomp.BUILD else {})
    said = answers(actions, profile, tmp_path)
    assert said.pop("size of a terminal") == "ENOTTY"  # asked, and standard input is none
    assert said == dict.fromkeys(said, "done")


def test_what_the_caller_adds_is_permitted_and_nothing_beside(tmp_path: Path) -> None:
    actions = {
        "kill": "os.kill(os.getpid(), 0)",
        "tkill": "call('tkill', os.getpid(), 0)",
        "own a terminal": "call('ioctl', 0, 0x540E, 0)",
    }
    assert answers(actions, seccomp.RUN, tmp_path) == dict.fromkeys(actions, "EPERM")
    added = answers(actions, seccomp.RUN, tmp_path, allow=["kill"])
    assert added == {"kill": "done", "tkill": "done", "own a terminal": "EPERM"}


def test_every_thread_is_held_not_only_the_one_that_asked() -> None:
    before = """
        go, said = threading.Event(), []
        other = threading.Thread(target=lambda: go.wait() and said.append(attempt(socket.socket)))
        other.start()
    """
    body = "go.set(); other.join(); tell(said)"
    assert fenced.run(body, fenced.plan(landlock=None), before=before) == ["EPERM"]


def test_the_filter_outlives_the_start_of_another_program() -> None:
    inner = "import socket; socket.socket()"
    body = f"tell(subprocess.run([sys.executable, '-I', '-S', '-c', {inner!r}], capture_output=True).stderr.decode())"
    assert "PermissionError" in fenced.run(body, fenced.plan(seccomp.BUILD))
