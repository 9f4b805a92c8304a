"""No control group outlives its box, and those of a killed grader are found and removed by the next."""

import os
import signal
import subprocess
import sys
import time

import pytest

from harness.errors import BoxError
from harness.sandbox.confinement import cgroup

pytestmark = pytest.mark.skipif(cgroup.available() is not None, reason=f"no control groups: {cgroup.available()}")

GRADER = """
import subprocess, sys, time
from harness.sandbox.confinement import cgroup
group = cgroup.make(64 << 20, 8)
if "busy" in sys.argv:
    subprocess.Popen([*group.enter_prefix(), "/bin/sleep", "60"], stdout=subprocess.DEVNULL)
    while not group.processes(): time.sleep(0.01)
print(group.folders[0].path.name, flush=True)
time.sleep(60)
"""

COMING_AND_GOING = """
import os, sys
while True:
    for number in range(50): os.mkdir(f"{sys.argv[1]}/box-{number}")
    for number in range(50): os.rmdir(f"{sys.argv[1]}/box-{number}")
"""


def left(name: str) -> list[str]:
    """Folders of a group in all hierarchies."""
    return [str(f.path / name) for f in cgroup.own_folders() if (f.path / name).exists()]


def own_groups() -> set[str]:
    """Groups of this process; fork servers that are kept warm for the next answer have theirs."""
    return {str(p) for f in cgroup.own_folders() for p in f.path.glob(f"{cgroup.PREFIX}*-{os.getpid()}-*")}


@pytest.mark.parametrize("kind", ["empty", "busy"])
def test_groups_of_a_killed_grader_are_swept_with_what_runs_in_them(kind):
    with subprocess.Popen([sys.executable, "-c", GRADER, kind], stdout=subprocess.PIPE, text=True) as grader:
        try:
            assert grader.stdout is not None
            name = grader.stdout.readline().strip()
            cgroup.sweep()
            assert len(left(name)) == len(cgroup.own_folders()), "its grader is alive"
        finally:
            grader.kill()
    assert left(name)
    assert cgroup.sweep() >= 1
    assert not left(name)


def test_groups_of_a_grader_of_another_session_are_swept():
    session = cgroup.own_folders()[0].path / f"session-{os.getpid()}"
    session.mkdir()
    orphan = session / f"{cgroup.PREFIX}{os.stat('/proc/self/ns/pid').st_ino}-{2**22 + 1}-0"
    orphan.mkdir()
    moved = cgroup.Folder(session.parent / "this-one", 2, frozenset())
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cgroup, "own_folders", lambda: (moved,))
            assert cgroup.sweep() == 1
        assert not orphan.exists()
    finally:
        session.rmdir()


def test_groups_that_end_while_others_are_looked_for_are_no_error():
    parent = cgroup.own_folders()[0].path / f"session-{os.getpid()}"
    parent.mkdir()
    moved = cgroup.Folder(parent / "this-one", 2, frozenset())
    coming = subprocess.Popen([sys.executable, "-c", COMING_AND_GOING, parent])
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cgroup, "own_folders", lambda: (moved,))
            end = time.monotonic() + 2
            while time.monotonic() < end:
                assert cgroup.sweep() == 0
    finally:
        coming.kill()
        coming.wait()
        for group in parent.glob("box-*"):
            group.rmdir()
        parent.rmdir()


def test_groups_of_other_process_namespaces_are_left_alone():
    # there a process id that is free here may belong to a living grader
    folder = cgroup.own_folders()[0].path / f"{cgroup.PREFIX}1-{2**22 + 1}-0"
    folder.mkdir()
    try:
        cgroup.sweep()
        assert folder.is_dir()
    finally:
        folder.rmdir()


def test_a_group_can_be_removed_twice_and_while_busy():
    group = cgroup.make(64 << 20, 8)
    with subprocess.Popen([*group.enter_prefix(), "/bin/sleep", "60"]) as process:
        while not group.processes():
            pass
        group.remove()
        assert process.wait(5) == -signal.SIGKILL
    group.remove()
    assert not left(group.folders[0].path.name)


def test_a_group_that_cannot_be_limited_is_not_left_half_made():
    before = own_groups()
    with pytest.raises(BoxError, match="cannot be made: Invalid argument"):
        cgroup.make(64 << 20, -7)
    assert own_groups() <= before


def test_trying_whether_there_are_groups_leaves_none():
    before = own_groups()
    cgroup.available.cache_clear()
    assert cgroup.available() is None
    assert own_groups() <= before
