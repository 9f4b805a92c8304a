"""Ctrl-C is answered within a second: running grades end and are kept, no other begins; a second one drops them."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli_runs import Submit

from tests.commands import command, environment

ANSWER_SECONDS = 1.0
SLOW = "import time\n\ntime.sleep(1)\n"
"""What a worker of a slow answer begins with."""


def heed_interruptions() -> None:
    """Undo what a shell does to its background jobs, this test run perhaps among them: they ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def grading(root: Path, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """`harness grade` at the head of a process group, as in a terminal."""
    with subprocess.Popen(
        command("grade", *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root,
        env=environment(root), preexec_fn=heed_interruptions, start_new_session=True,
    ) as process:  # fmt: skip
        yield process


def press(process: "subprocess.Popen[str]") -> tuple[str, float]:
    """Send Ctrl-C to the whole group, as a terminal does; return the next line and the seconds until it came."""
    assert process.stderr is not None
    begun = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    return process.stderr.readline(), time.monotonic() - begun


def wait_for_the_second(process: "subprocess.Popen[str]") -> None:
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("graded: a/rows in "), line
    time.sleep(0.5)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_running_grades_end_and_are_kept(submit: Submit, root: Path, jobs: str) -> None:
    right = (root / "references" / "rows" / "reference.py").read_text()
    submit("a")
    for name in ("b", "c", "d", "e"):
        submit(name, SLOW + right)
    with grading(root, "--all", "-j", jobs) as process:
        assert process.stderr is not None
        wait_for_the_second(process)
        answer, seconds = press(process)
        running = int(answer.split()[2])
        assert answer.startswith(f"stopping after {running} running grade") and "press again to drop" in answer
        assert 1 <= running <= int(jobs) and seconds < ANSWER_SECONDS
        out, err = process.communicate(timeout=60)
    done = 1 + running
    assert process.returncode == 130
    assert f"interrupted: {done} of 5 are done and kept" in err and "Traceback" not in err
    kept = sorted(path.stem for path in (root / "reports" / "records" / "rows").iterdir())
    assert kept == ["a", "b", "c"][:done] and "judge error" not in out
    assert err.count("graded: ") == running


def test_a_second_one_drops_them(submit: Submit, root: Path) -> None:
    submit("a")
    submit("b", SLOW + (root / "references" / "rows" / "reference.py").read_text())
    with grading(root, "--all") as process:
        wait_for_the_second(process)
        assert press(process)[0].startswith("stopping after 1 running grade; ")
        answer, seconds = press(process)
        assert answer == "dropping 1 running grade\n" and seconds < ANSWER_SECONDS
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted: 1 of 2 are done and kept" in err and "Traceback" not in err
    assert [path.stem for path in (root / "reports" / "records" / "rows").iterdir()] == ["a"]


def test_what_ends_by_itself_is_no_interruption(submit: Submit, root: Path) -> None:
    submit("a")
    submit("b", SLOW + (root / "references" / "rows" / "reference.py").read_text())
    with grading(root, "--all") as process:
        wait_for_the_second(process)
        answer, seconds = press(process)
        assert answer == "stopping after 1 running grade; press again to drop it\n" and seconds < ANSWER_SECONDS
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "interrupted" not in err


def test_the_time_of_a_grade_is_wall_time(submit: Submit, root: Path) -> None:
    submit("only", SLOW + (root / "references" / "rows" / "reference.py").read_text())
    begun = time.monotonic()
    with grading(root, "only") as process:
        _, err = process.communicate(timeout=60)
    spent = time.monotonic() - begun
    said = float(err.partition("graded: only/rows in ")[2].partition(" s,")[0])
    assert 1 <= said <= spent
