"""A killed grader leaves no file and resumes where it was."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import kill_and_resume
import pytest
from pydantic import ValidationError

from harness.model import Tier
from harness.sandbox.confinement import cgroup, scratch
from harness.sandbox.session.tiers import FORCED, why_not
from tests.toy import add_submission, make_workspace

HANGS = "import time\n\n\ndef scaled(x, scale):\n    time.sleep(120)\n"
API = "import harness, sys; harness.grade(sys.argv[1])"
STARTS = {
    "harness grade": ("-P", "-m", "harness", "grade", "--all"),
    "harness grade -j": ("-P", "-m", "harness", "grade", "--all", "-j", "2"),
    "the API": ("-c", API, "submissions/m/scaled_sum"),
}
SECONDS = 20
"""On the busiest machine; the kernel ends what is confined one after the other."""
WORKING = [tier for tier in Tier if why_not(tier) is None]


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    return tmp_path / "tmp"


def answers_in(folder: Path) -> int:
    """Count the copies of the answer below a folder, of which any may be removed meanwhile."""
    return sum("answer.py" in names for _, _, names in os.walk(folder))


def until(holds: Callable[[], object], seconds: float = SECONDS) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@contextmanager
def grading(start: str, tier: Tier, temporary: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that grades answers that hang, once their files are laid out and a worker is at work on them."""
    root = temporary.parent / "workspace"
    workspace = make_workspace(root)
    names = ("m", "n")
    for name in names:
        add_submission(workspace, name, HANGS)
    variables = {"HARNESS_WORKSPACE": str(root), "TMPDIR": str(temporary), FORCED: tier.value}
    process = subprocess.Popen(
        [sys.executable, *STARTS[start]], cwd=root, env=os.environ | variables, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    count = 2 if "-j" in STARTS[start] else 1
    try:
        assert until(lambda: answers_in(temporary) >= count, 60)
        time.sleep(1)
        yield process
    finally:
        process.kill()
        process.wait()


def groups(pids: list[int]) -> list[Path]:
    """Control groups of these processes."""
    return [p for f in cgroup.own_folders() for pid in pids for p in f.path.glob(f"{cgroup.PREFIX}*-{pid}-*")]


def children(pid: int) -> list[int]:
    tasks = Path("/proc", str(pid), "task").glob("*/children")
    return [int(word) for task in tasks for word in task.read_text().split()]


def graders(pid: int) -> list[int]:
    """The grading processes under one."""
    return [p for p in children(pid) if b"grading_process" in Path("/proc", str(p), "cmdline").read_bytes()]


@pytest.mark.parametrize("tier", WORKING)
@pytest.mark.parametrize("start", STARTS)
def test_nothing_stays_when_it_is_killed(temporary, start, tier):
    with grading(start, tier, temporary) as process:
        pids = [process.pid, *graders(process.pid)]
        process.kill()
        process.wait()
        assert until(lambda: not [*temporary.iterdir()]), [*temporary.rglob("*")]
    assert until(lambda: not groups(pids))


def test_nothing_stays_when_its_whole_group_is_killed(temporary):
    with grading("the API", WORKING[0], temporary) as process:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert until(lambda: not [*temporary.iterdir()]), [*temporary.rglob("*")]
    assert until(lambda: not groups([process.pid]))


@pytest.mark.parametrize("tier", WORKING)
def test_nothing_stays_of_one_grading_process_while_the_others_go_on(temporary, tier):
    with grading("harness grade -j", tier, temporary) as process:
        pid, *_ = graders(process.pid)
        own = [*temporary.glob(f"{scratch.PREFIX}{pid}-*")]
        assert own
        os.kill(pid, signal.SIGKILL)
        assert until(lambda: not any(map(Path.exists, own)))
        assert until(lambda: not groups([pid]))
        assert process.poll() is None


STAYS = """
import os, sys, time
from harness.sandbox.confinement import scratch
folder = scratch.make()
print(folder, flush=True)
if os.fork() == 0:
    time.sleep(120)
time.sleep(120)
"""


def test_a_process_forked_by_the_killed_one_keeps_no_file(temporary):
    """A training loop forks: what its children inherit must not pass for the grader."""
    with subprocess.Popen(
        [sys.executable, "-c", STAYS], stdout=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | {"TMPDIR": str(temporary)},
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            folder = Path(process.stdout.readline().strip())
            process.kill()
            assert until(lambda: not folder.exists())
        finally:
            os.killpg(process.pid, signal.SIGKILL)


WAITS = """
import os
from harness.sandbox.confinement import scratch
with scratch.folder():
    try:
        os.wait()
    except ChildProcessError:
        print("no child", flush=True)
"""


def test_a_program_that_waits_for_its_children_waits_for_none_of_ours(temporary):
    done = subprocess.run(
        [sys.executable, "-c", WAITS], capture_output=True, text=True, timeout=20,
        env=os.environ | {"TMPDIR": str(temporary)}, check=False,
    )  # fmt: skip
    assert done.stdout == "no child\n", done.stderr


TIMES = 6


@pytest.mark.alone
def test_the_run_after_a_kill_ends_like_a_run_that_nobody_killed() -> None:
    command = [sys.executable, "-m", "tests.running.kill_and_resume", "--times", str(TIMES), "--seed", str(os.getpid())]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{TIMES} of {TIMES} identical"), done.stdout


def test_a_half_written_record_would_be_noticed(tmp_path: Path) -> None:
    workspace = kill_and_resume.made(tmp_path)
    half = workspace.record_path("right", "scaled_sum")
    half.parent.mkdir(parents=True)
    half.write_text('{"schema_version": 1,')
    with pytest.raises(ValidationError, match="EOF"):
        kill_and_resume.stored(workspace)
