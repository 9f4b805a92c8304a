"""ruff and lizard are bounded by processor time: a busy machine takes no figure and no mark away."""

import subprocess
import sys

import pytest

from harness.errors import JudgeError
from harness.quality import tools


def test_a_tool_that_uses_up_its_processor_time_gives_no_figures(monkeypatch, tmp_path):
    """What would take too long on any machine is ended by the kernel."""
    monkeypatch.setattr(tools, "SECONDS", 1)
    assert tools._answer(tools._start([sys.executable, "-c", "while True: pass"], tmp_path)) is None


def test_a_tool_that_waits_is_not_ended_by_its_processor_time(monkeypatch, tmp_path):
    """As on a busy machine: more wall time passes than it has processor time."""
    monkeypatch.setattr(tools, "SECONDS", 1)
    words = [sys.executable, "-c", "import time; time.sleep(2); print('said')"]
    assert tools._answer(tools._start(words, tmp_path)) == "said\n"


def test_a_tool_without_any_time_is_no_finding_about_the_answer(monkeypatch, tmp_path):
    """A tool that the wall clock ends is an error of the judge's, which is tried again."""
    monkeypatch.setattr(tools, "WALL_SECONDS", 0.2)
    process: subprocess.Popen[str] = tools._start([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path)
    with pytest.raises(JudgeError, match="wall time"):
        tools._answer(process)
    process.kill()
    process.communicate()
