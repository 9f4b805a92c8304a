"""What runs in a control group has no more memory and processes than it was given, and ends when the group does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import BoxError
from harness.sandbox.confinement import cgroup

pytestmark = pytest.mark.skipif(cgroup.available() is not None, reason=f"no control groups: {cgroup.available()}")

MIB = 1 << 20
HOG = "block = bytearray(128 << 20)\nprint('had it')"
MEMORY_FILE = "import os\nfd = os.memfd_create('x')\nfor _ in range(128): os.write(fd, bytes(1 << 20))\nprint('had it')"
FORKS = """
import os, time
count = 0
try:
    while count < 100:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        count += 1
except BlockingIOError:
    pass
print(count, flush=True)
time.sleep(60)
"""
DAEMON = """
import os, time
for _ in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
print(os.getpid(), flush=True)
os.close(1)
time.sleep(60)
"""


@pytest.fixture(params=["all hierarchies", "version 1 alone"])
def under(request: pytest.FixtureRequest) -> list[cgroup.Folder]:
    """Where the group lies: version 2 kills a group by one word, version 1 knows no such word."""
    folders = [f for f in cgroup.own_folders() if request.param == "all hierarchies" or f.version == 1]
    if not {"memory", "pids"} <= {name for folder in folders for name in folder.controllers}:
        pytest.skip("no controllers of version 1 on this machine")
    return folders


def run(group: cgroup.Cgroup, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*group.enter_prefix(), sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
    )


def start(group: cgroup.Cgroup, code: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*group.enter_prefix(), sys.executable, "-I", "-S", "-c", code], stdout=subprocess.PIPE, text=True
    )


def runs(pid: int) -> bool:
    """Whether the process is more than a status that nobody has collected yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("code", [HOG, MEMORY_FILE], ids=["private memory", "a memory file"])
def test_memory_beyond_the_limit_is_not_to_be_had(under, code):
    # a limit on address space does not see memory files: only the group holds these
    for limit, had in ((64 * MIB, False), (512 * MIB, True)):
        group = cgroup.make(limit, 16, under)
        try:
            done = run(group, code)
            assert ("had it" in done.stdout, done.returncode) == (had, 0 if had else -9)
        finally:
            group.remove()


def test_no_more_processes_than_allowed_can_be_started(under):
    group = cgroup.make(512 * MIB, 8, under)
    process = start(group, FORKS)
    try:
        assert process.stdout is not None
        assert int(process.stdout.readline()) == 7  # and the one that forks
        assert len(group.processes()) == 8
    finally:
        group.remove()
        process.communicate()


def test_a_daemon_that_left_its_session_dies_with_the_group(under):
    group = cgroup.make(512 * MIB, 8, under)
    process = start(group, DAEMON)
    try:
        assert process.stdout is not None
        daemon = int(process.stdout.readline())
        assert daemon in group.processes()
        group.kill()
        assert not group.processes() and not runs(daemon)
    finally:
        group.remove()
        process.communicate()


def test_processor_time_counts_all_that_ran_inside(under):
    burn = "import os, time\nif os.fork(): os.wait()\nwhile time.process_time() < 0.2: pass"
    group = cgroup.make(512 * MIB, 8, under)
    try:
        assert group.processor_seconds() < 0.01
        run(group, burn)
        # two processes of 0.2 s each, and what it takes to start them: counted in ticks of 10 ms at worst
        assert 0.38 <= group.processor_seconds() < 1.5
    finally:
        group.remove()


def test_what_bounds_the_grader_bounds_its_boxes():
    group = cgroup.make(64 * MIB, 8)
    try:
        for folder in (f for f in group.folders if f.version == 1):
            above = cgroup.Folder(folder.path.parent, 1, folder.controllers)
            assert os.getpid() in above.processes(), "the group lies under that of this process"
    finally:
        group.remove()


def test_nothing_starts_outside_when_the_group_is_gone():
    group = cgroup.make(64 * MIB, 8)
    group.remove()
    done = run(group, "print('ran')")
    assert done.returncode != 0 and "ran" not in done.stdout


def test_a_group_that_no_hierarchy_can_limit_is_refused():
    without = [cgroup.Folder(f.path, f.version, frozenset()) for f in cgroup.own_folders()]
    with pytest.raises(BoxError, match="limits memory or pids"):
        cgroup.make(64 * MIB, 8, without)
