"""A grader killed at any moment of its run resumes to the same scoreboard, and leaves nothing behind.

Six moments here; `python -m tests.running.kill_and_resume --times 200` takes the time for many.
"""

import os
import subprocess
import sys
from pathlib import Path

import kill_and_resume
import pytest
from pydantic import ValidationError

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
