"""A full disk, a folder that cannot be written, a lost tool: each ends in a message that says what to do, nothing lost.

The faults are real: small and read-only file systems, mounted where only the command under test sees them.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from kill_and_resume import finish, made, outcome, start

from harness.model import Record, Tier, TierChoice
from harness.sandbox import detect
from harness.workspace import Workspace
from harness.workspace.stored_files import read_stored
from tests import shares
from tests.mounts import MOUNTED, mounts_work
from tests.tiers_here import NAMESPACED

RUN = f"{sys.executable} -P -m harness"
JOBS = shares.share([1, 2], 2)
"""Grading in the command's own process, and in others."""
ALL = {"broken", "right", "wrong"}
GOES_ON = "then the same command goes on: finished grades are kept"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return made(tmp_path / "workspace")


def bash(workspace: Workspace, script: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a script where what it mounts is its own; its last line must be the exit code of what is tested."""
    if not mounts_work():
        pytest.skip("needs mount namespaces: root, or user namespaces for all")
    environment = {**os.environ, "HARNESS_WORKSPACE": str(workspace.root), "W": str(workspace.root), **variables}
    return subprocess.run(
        [*MOUNTED, "bash", "-c", f"set -e\n{script}"], env=environment, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip


def codes(done: "subprocess.CompletedProcess[str]") -> list[str]:
    """Exit codes of the runs of a script, which must not have shown a traceback."""
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return [line for line in done.stdout.splitlines() if line.isdigit()]


def published(workspace: Workspace) -> set[str]:
    return {read_stored(path, Record).model for path in workspace.records_folder.glob("*/*.json")}


def goes_on(workspace: Workspace, tmp_path: Path) -> None:
    """Once the machine is whole again, the same command ends well with every record in its place."""
    finish(start(workspace, tmp_path, 1))
    assert published(workspace) == ALL


@pytest.mark.parametrize("jobs", JOBS)
def test_a_full_disk(workspace, tmp_path, jobs):
    # the first grade finds room for its two records, the next finds some or none
    script = f"""
        cp -r $W {tmp_path}/copy; mount -t tmpfs -o size=1m none $W; cp -r {tmp_path}/copy/. $W
        mkdir -p $W/reports $W/.harness
        {RUN} grade broken; echo $?
        head -c 2m /dev/zero > $W/filler || true
        {RUN} grade --all -j {jobs} || echo $?
        rm $W/filler; {RUN} grade --all; echo $?; cp -r $W/reports {tmp_path}/copy"""
    done = bash(workspace, script)
    assert codes(done) == ["0", "3", "0"]
    (first, *_) = [line for line in done.stderr.splitlines() if "cannot be written" in line]
    assert "No space left on device" in first
    assert re.search(rf"make room there.*; {GOES_ON}", done.stderr)
    shown = re.findall(r"^scaled_sum +\S+ +100 +100 +-$", done.stdout, re.MULTILINE)
    assert len(shown) == 2, "the marks are shown although they cannot be kept"
    assert "reused: broken/scaled_sum" in done.stderr
    assert published(Workspace(tmp_path / "copy")) == ALL


FULL = """
import contextlib, pathlib, tempfile
from harness.cli.main import main
filler = pathlib.Path(tempfile.gettempdir(), "filler").open("wb", 0)
with contextlib.suppress(OSError):
    while filler.write(bytes(4096)): pass
print(main(["grade", "right"]))
"""


def test_a_full_folder_for_temporary_files(workspace, tmp_path):
    script = f"""
        mkdir {tmp_path}/small; mount -t tmpfs -o size=64k none {tmp_path}/small
        TMPDIR={tmp_path}/small {sys.executable} -P - <<'END'\n{FULL}END"""
    done = bash(workspace, script)
    assert codes(done) == ["3"]
    assert "right/scaled_sum: judge error, not the answer's fault: " in done.stderr
    assert "No space left on device" in done.stderr and "make room there, or set TMPDIR" in done.stderr
    assert "tried 4 times" in done.stderr
    goes_on(workspace, tmp_path)


FULL_LATER = """
import contextlib, pathlib, tempfile
from harness.errors import JudgeError
from harness.grading.submission_grade import grade_one
from harness.grading.options import Options
from harness.workspace import Workspace

def progress(stage):
    with contextlib.suppress(OSError):
        if stage == "building":
            filler = pathlib.Path(tempfile.gettempdir(), "filler").open("wb", 0)
            while filler.write(bytes(4096)): pass
try:
    workspace = Workspace.find()
    print(grade_one(workspace, workspace.root / "submissions/broken/scaled_sum", Options(), progress).record.status)
except JudgeError as error:
    print(3, error, sep="\\n")
"""


def test_a_build_that_fails_on_a_full_disk_is_not_the_answers_failure(workspace, tmp_path):
    script = f"""
        mkdir {tmp_path}/small; mount -t tmpfs -o size=2m none {tmp_path}/small
        TMPDIR={tmp_path}/small {sys.executable} -P - <<'END'\n{FULL_LATER}END"""
    done = bash(workspace, script)
    assert codes(done) == ["3"], done.stdout
    assert "No space left on device, so that nothing can be built" in done.stdout
    assert GOES_ON in done.stdout


@pytest.mark.parametrize("folder", ["reports", ".harness"])
@pytest.mark.parametrize("jobs", JOBS)
def test_a_folder_that_cannot_be_written(workspace, tmp_path, folder, jobs):
    script = f"""
        mkdir $W/{folder}; mount --bind $W/{folder} $W/{folder}; mount -o remount,ro,bind $W/{folder}
        {RUN} grade --all -j {jobs} || echo $?"""
    done = bash(workspace, script)
    assert codes(done) == ["3"]
    assert len(re.findall(rf"{workspace.root}/{folder}/\S+: cannot be written: ", done.stderr)) == len(ALL)
    assert len(re.findall(rf"make it writable for this user.*; {GOES_ON}", done.stderr)) == len(ALL)
    assert published(workspace) == (ALL if folder == ".harness" else set()), "the other place has every record"
    goes_on(workspace, tmp_path)


MADE = "new submission a/scaled_sum", "new challenge b", "import reply $R/reply.md --model c --challenge scaled_sum"
"""Commands that make folders."""


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        ("mount -o remount,ro $W", "Read-only file system"),
        ("head -c 2m /dev/zero > $W/filler 2>/dev/null || true", "No space left on device"),
    ],
)
def test_what_cannot_be_made_whole_is_not_made(workspace, tmp_path, spoilt, why):
    """A new folder on a read-only or full disk: the error names it, and nothing of it is left."""
    (tmp_path / "reply.md").write_text("```python\ndef scaled(x, scale):\n    return x.sum() * scale\n```\n")
    contract = workspace.root / "challenges" / "scaled_sum" / "contract.py"
    contract.write_text("def scaled(x, scale): ...\n")
    commands = "\n".join(f"{RUN} {command} || echo $?" for command in MADE)
    script = f"""
        cp -r $W {tmp_path}/copy; mount -t tmpfs -o size=1m none $W; cp -r {tmp_path}/copy/. $W; {spoilt}
        {commands}
        ls $W/submissions $W/challenges"""
    done = bash(workspace, script, R=str(tmp_path))
    assert codes(done) == ["3"] * len(MADE), done.stderr
    for place in ("submissions/a/scaled_sum", "challenges/b", "submissions/c/scaled_sum"):
        assert f"{workspace.root}/{place}: cannot be written: {why}" in done.stderr
    assert not {"a", "b", "c"} & {*done.stdout.split()}


WITHOUT_BUBBLEWRAP = """
import shutil, subprocess, sys
from harness.cli.main import main
print(main(["grade", "right"]))
subprocess.run(["mount", "--bind", "/dev/null", shutil.which("bwrap")], check=True)
print(main(["grade", "--all", "-j", sys.argv[1]]))
"""


@pytest.mark.skipif(detect() not in NAMESPACED, reason="needs bubblewrap, to take it away")
@pytest.mark.parametrize("jobs", JOBS)
def test_bubblewrap_gone_in_the_middle_of_a_run(workspace, tmp_path, jobs):
    done = bash(workspace, f"{sys.executable} -P - {jobs} <<'END'\n{WITHOUT_BUBBLEWRAP}END")
    assert codes(done) == ["0", "3"]
    # this process reuses what it has; new processes look anew, and may not take what weaker tier they find
    lost = ALL - {"right"} if jobs == 1 else ALL
    for name in lost:
        assert f"{name}/scaled_sum: judge error, not the answer's fault: " in done.stderr
    assert ("bwrap" if jobs == 1 else "which is no longer to be had") in done.stderr
    assert done.stderr.count("tried 4 times") == len(lost)
    records = {path.stem: read_stored(path, Record) for path in workspace.records_folder.glob("*/*.json")}
    assert {name: r.status for name, r in records.items()} == {
        "right": "graded", "wrong": "judge_error", "broken": "judge_error"
    }  # fmt: skip
    assert {r.environment.tier for r in records.values()} == {detect().value}, "no weaker tier steps in"
    goes_on(workspace, tmp_path)


def test_a_grading_process_that_finds_a_weaker_tier_grades_nothing(workspace):
    given = (str(workspace.root), "{}", TierChoice(tier=Tier.B).model_dump_json(), str(os.getpid()))
    command = [sys.executable, "-P", "-m", "harness.executors.grading_process", *given]
    done = subprocess.run(
        command, input=f'"{workspace.submissions()[0]}"\n', env={**os.environ, "PATH": "/nonexistent"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "the run began in tier B, which is no longer to be had: " in done.stdout
    assert not workspace.records_folder.exists()


LOST = """
import os, sys, tempfile
from harness.cli.main import main
os.rmdir(tempfile.gettempdir())
print(main(["grade", "right"]))
"""


def test_a_lost_folder_for_temporary_files(workspace, tmp_path):
    (tmp_path / "lost").mkdir()
    done = bash(workspace, f"{sys.executable} -P - <<'END'\n{LOST}END", TMPDIR=str(tmp_path / "lost"))
    assert codes(done) == ["3"]
    assert f"No such file or directory: '{tmp_path}/lost/" in done.stderr
    assert f"set TMPDIR to a folder that is not cleaned automatically; {GOES_ON}" in done.stderr
    goes_on(workspace, tmp_path)


def test_two_runs_at_once(workspace, tmp_path):
    runs = [start(workspace, tmp_path, 2) for _ in range(2)]
    for run in runs:
        finish(run)
    assert published(workspace) == ALL
    before = outcome(workspace)
    assert not list(workspace.root.rglob(".*.json.*"))
    goes_on(workspace, tmp_path)
    assert outcome(workspace) == before
