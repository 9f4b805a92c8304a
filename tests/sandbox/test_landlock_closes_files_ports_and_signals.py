"""Behind Landlock a process reaches the files it was shown, and no other file, port, signal or abstract socket."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.sandbox.inside import landlock_rules
from tests.sandbox import fenced

pytestmark = fenced.needs_landlock

ABI = landlock_rules.abi()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Folders inside and outside the fence, and listeners of ours."""
    folders = {name: tmp_path / name for name in ("shown", "scratch", "outside")}
    for folder in folders.values():
        folder.mkdir()
    name = f"harness-test-{os.getpid()}"
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind("\0" + name)
        abstract.listen()
        yield {k: str(v) for k, v in folders.items()} | {"tcp": tcp.getsockname()[1], "abstract": name}


def answers(actions: dict[str, str], world: dict[str, Any], *, fence: bool = True) -> dict[str, str]:
    shown = {
        "readable": [*fenced.INTERPRETER, world["shown"], "/no/such/place"],
        "writable": [world["scratch"], "/no/such/place"],
        "devices": ["/dev/null"],
    }
    plan = fenced.plan(seccomp=False, landlock=shown) if fence else None
    # each action finds the folders as if it were the first
    before = """
W = WORLD
for folder in ("shown", "scratch", "outside"):
    subprocess.run(["rm", "-rf", W[folder]], check=True)
    os.mkdir(W[folder])
    with open(W[folder] + "/file", "w") as file:
        file.write("secret")
os.chmod(W["outside"] + "/file", 0o755)
os.symlink(W["outside"] + "/file", W["scratch"] + "/link")
"""
    return fenced.answers(actions, plan, world, before)


# the action, what the fence says, the first version that says so
REFUSED = {
    "read outside": ("open(W['outside'] + '/file')", "EACCES", 1),
    "list outside": ("os.listdir(W['outside'])", "EACCES", 1),
    "write outside": ("open(W['outside'] + '/file', 'w')", "EACCES", 1),
    "make outside": ("open(W['outside'] + '/new', 'x')", "EACCES", 1),
    "remove outside": ("os.unlink(W['outside'] + '/file')", "EACCES", 1),
    "shorten outside": ("os.truncate(W['outside'] + '/file', 0)", "EACCES", 3),
    "read through a link": ("open(W['scratch'] + '/link')", "EACCES", 1),
    "run from outside": ("os.execv(W['outside'] + '/file', ['x'])", "EACCES", 1),
    "move out": ("os.rename(W['scratch'] + '/file', W['outside'] + '/taken')", "EXDEV|EACCES", 1),
    "link in": ("os.link(W['outside'] + '/file', W['scratch'] + '/taken')", "EXDEV|EACCES", 1),
    "write what is shown": ("open(W['shown'] + '/file', 'a')", "EACCES", 1),
    "make in what is shown": ("os.mkdir(W['shown'] + '/new')", "EACCES", 1),
    "make a socket file": ("socket.socket(socket.AF_UNIX).bind(W['scratch'] + '/s')", "EACCES", 1),
    "open a port": ("socket.socket().bind(('127.0.0.1', 0))", "EACCES", 4),
    "reach a port": ("socket.socket().connect(('127.0.0.1', W['tcp']))", "EACCES", 4),
    "reach an abstract socket": ("socket.socket(socket.AF_UNIX).connect(chr(0) + W['abstract'])", "EPERM", 6),
    "signal the parent": ("os.kill(os.getppid(), 0)", "EPERM", 6),
    "read the parent's memory": ("open(f'/proc/{os.getppid()}/mem', 'rb')", "EACCES", 1),
    "trace the parent": ("call('ptrace', 0x4206, os.getppid(), 0, 0)", "EPERM", 1),
}
PERMITTED = {
    "read what is shown": "open(W['shown'] + '/file')",
    "list what is shown": "os.listdir(W['shown'])",
    "read the interpreter": "open(os.__file__)",
    "write scratch": "open(W['scratch'] + '/new', 'w')",
    "shorten in scratch": "os.truncate(W['scratch'] + '/file', 1)",
    "folders in scratch": "os.makedirs(W['scratch'] + '/a/b')",
    "move in scratch": "(os.mkdir(W['scratch'] + '/d'), os.rename(W['scratch'] + '/file', W['scratch'] + '/e'))",
    "link in scratch": "os.symlink('file', W['scratch'] + '/l')",
    "pipe file in scratch": "os.mkfifo(W['scratch'] + '/p')",
    "run from scratch": "subprocess.run(['/bin/cp', '/bin/true', W['scratch']], check=True) and "
    "subprocess.run([W['scratch'] + '/true'], check=True)",
    "write a device": "open('/dev/null', 'w')",
    "signal oneself": "os.kill(os.getpid(), 0)",
    "signal a child": "subprocess.Popen(['/bin/sleep', '9']).kill()",
}


def test_what_was_not_shown_is_out_of_reach(world: dict[str, Any]) -> None:
    handled = {name: (action, errors) for name, (action, errors, since) in REFUSED.items() if since <= ABI}
    said = answers({name: action for name, (action, _) in handled.items()}, world)
    assert {name: error for name, error in said.items() if error not in handled[name][1].split("|")} == {}


def test_without_the_fence_it_is_in_reach(world: dict[str, Any]) -> None:
    # the file outside is no program, whoever starts it
    actions = {name: action for name, (action, _, _) in REFUSED.items() if name != "run from outside"}
    assert answers(actions, world, fence=False) == dict.fromkeys(actions, "done")


def test_what_was_shown_is_in_reach(world: dict[str, Any]) -> None:
    assert answers(PERMITTED, world) == dict.fromkeys(PERMITTED, "done")


@fenced.needs_root
def test_no_device_node_can_be_made(tmp_path: Path) -> None:
    # the filter and the lost capabilities would refuse it too: Landlock alone is asked here
    place = {"scratch": str(tmp_path), "interpreter": fenced.INTERPRETER}
    alone = "confine.landlock_rules.restrict([*WORLD['interpreter']], [WORLD['scratch']], [])"
    make = {"node": "os.mknod(WORLD['scratch'] + '/null', 0o600 | 0o020000, os.makedev(1, 3))"}
    assert fenced.answers(make, None, place, alone) == {"node": "EACCES"}
    assert fenced.answers(make, None, place) == {"node": "done"}


@pytest.mark.skipif(ABI < 5, reason="needs Landlock version 5")
def test_a_device_is_controlled_only_where_it_was_shown_as_one() -> None:
    action = "[attempt(fcntl.ioctl, open(path), 0x80045200, bytearray(4)) for path in ('/dev/urandom', '/dev/random')]"
    shown = {"readable": [*fenced.INTERPRETER, "/dev/urandom"], "writable": [], "devices": ["/dev/random"]}
    said = fenced.run(f"tell({action})", fenced.plan(seccomp=False, landlock=shown))
    assert said == ["EACCES", "done"]


@fenced.needs_root
def test_a_place_that_its_user_cannot_reach_does_not_stop_the_fence(world: dict[str, Any]) -> None:
    os.chmod(world["outside"], 0o700)
    shown = {"readable": [*fenced.INTERPRETER, world["outside"] + "/file"], "writable": [], "devices": []}
    plan = fenced.plan(uid=fenced.OTHER_UID, seccomp=False, landlock=shown)
    assert fenced.answers({"read": "open(WORLD['outside'] + '/file')"}, plan, world) == {"read": "EACCES"}


def test_a_fence_that_would_hold_one_thread_of_several_is_refused() -> None:
    before = "go = threading.Event(); threading.Thread(target=go.wait).start()"
    body = "answer = attempt(confine.landlock_rules.restrict, [], [], []); go.set(); tell(answer)"
    assert fenced.run(body, None, before=before) == "EINVAL"


def test_rights_that_an_older_kernel_lacks_are_left_out() -> None:
    known = {version: landlock_rules._describe_ruleset(version) for version in range(1, 9)}
    assert [len(attributes) for _, attributes in known.values()] == [8, 8, 8, 16, 16, 24, 24, 24]
    assert [files.bit_length() for files, _ in known.values()] == [13, 14, 15, 15, 16, 16, 16, 16]
