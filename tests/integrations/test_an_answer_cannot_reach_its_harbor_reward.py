"""The reward of an exported Harbor task is the grade's, whatever the answer does to the files that hold it.

There is no container here: `tests/test.sh` runs in a plain folder, its output redirected as Harbor redirects it.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.integrations.harbor_task import REWARDS, write_harbor_task
from harness.workspace import Workspace

PATH = f"{Path(sys.executable).parent}:{os.defpath}"
SETTLES = 1.0
"""Seconds in which a daemon that writes twenty times a second would have shown itself."""
ZEROS = "import numpy as np\n\n\ndef softmax(logits):\n    return np.zeros_like(logits)\n"


@pytest.fixture(scope="module")
def task(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exported task."""
    folder = tmp_path_factory.mktemp("tasks") / "rows"
    write_harbor_task(Workspace(root), "rows", folder)
    return folder


class Trial:
    """What a verifier finds: the answer, the place of the reward."""

    def __init__(self, task: Path, place: Path) -> None:
        self.task, self.answer, self.rewards = task, place / "answer", place / "verifier"
        self.rewards.mkdir()

    def answered_by(self, kind: str) -> "Trial":
        """Leave the answer that a folder of the task brings along; it knows where this trial's reward will be."""
        subprocess.run(["bash", self.task / kind / "solve.sh", self.answer], check=True)
        for path in self.answer.iterdir():
            path.write_text(path.read_text().replace(REWARDS, str(self.rewards)))
        return self

    def answered(self, source: str) -> "Trial":
        self.answer.mkdir()
        (self.answer / "answer.py").write_text(source)
        return self

    def verified(self, exit_code: int = 0) -> "float | None":
        """The reward by the file that Harbor prefers, once the other one says the same; None where there is none."""
        script = self.task / "tests" / "test.sh"
        line = f'bash "{script}" "{self.answer}" "{self.rewards}" > "{self.rewards}/test-stdout.txt" 2>&1'
        ended = subprocess.run(["bash", "-c", line], env={"PATH": PATH}, timeout=120, check=False)
        assert ended.returncode == exit_code, (self.rewards / "test-stdout.txt").read_text()
        return self.reward()

    def reward(self) -> "float | None":
        preferred, other = self.rewards / "reward.json", self.rewards / "reward.txt"
        if not os.path.lexists(preferred) and not os.path.lexists(other):
            return None
        assert not preferred.is_symlink()
        assert not other.is_symlink()
        stated = json.loads(preferred.read_text())
        assert stated == {"reward": float(other.read_text())}
        return float(stated["reward"])


@pytest.fixture
def trial(task: Path, tmp_path: Path) -> Trial:
    return Trial(task, tmp_path)


def test_the_right_answer_earns_all(trial: Trial) -> None:
    assert trial.answered_by("solution").verified() == 1.0
    record = json.loads((trial.rewards / "record.json").read_text())
    assert (record["status"], record["profile"], record["findings"]) == ("graded", "correctness", [])


def test_no_answer_earns_nothing(trial: Trial) -> None:
    assert trial.answered_by("nop").verified() == 0.0
    shutil.rmtree(trial.answer)
    assert trial.verified() == 0.0


def comes_to_say_1(reward: Path) -> bool:
    """Whether a file says so within half a minute, however often it is removed meanwhile."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with contextlib.suppress(OSError, ValueError):
            if json.loads(reward.read_text()) == {"reward": 1}:
                return True
        time.sleep(0.02)
    return False


def test_the_cheat_would_forge_the_reward_where_nothing_holds_it(trial: Trial) -> None:
    """Run without the box, it writes the reward at once, and again after that was removed."""
    trial.answered_by("cheat")
    subprocess.run(
        [sys.executable, "answer.py"], cwd=trial.answer, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    reward = trial.rewards / "reward.json"
    written = comes_to_say_1(reward)
    reward.unlink(missing_ok=True)
    again = comes_to_say_1(reward)
    trial.rewards.rename(trial.rewards.with_name("gone"))  # its daemon ends where there is nothing to forge
    assert (written, again) == (True, True)


def test_a_daemon_rewrites_nothing_after_the_verdict(trial: Trial) -> None:
    assert trial.answered_by("cheat").verified() == 0.0
    time.sleep(SETTLES)
    assert trial.reward() == 0.0


def test_what_the_grader_leaves_behind_is_dead_before_the_reward_is_written(trial: Trial, tmp_path: Path) -> None:
    """Even if code of an answer got out of the box into the grading process, its daemon would not outlive it."""
    broken = tmp_path / "task"
    shutil.copytree(trial.task, broken)
    probes = broken / "tests" / "workspace" / "challenges" / "rows" / "probes.py"
    cheat = (broken / "cheat" / "answer" / "answer.py").read_text().partition("def softmax")[0]
    probes.write_text(f"{probes.read_text()}\n{cheat.replace(REWARDS, str(trial.rewards))}")
    out_of_the_box = Trial.__new__(Trial)
    out_of_the_box.__dict__ |= {**trial.__dict__, "task": broken}
    assert out_of_the_box.answered(ZEROS).verified() == 0.0
    time.sleep(SETTLES)
    assert trial.reward() == 0.0


def seeded(trial: Trial) -> None:
    (trial.rewards / "reward.txt").write_text("1")
    (trial.rewards / "reward.json").write_text('{"reward": 1}')


def shadowed(trial: Trial) -> None:
    (trial.rewards / "reward.json").mkdir()
    (trial.rewards / "reward.json" / "reward.json").write_text('{"reward": 1}')


def log_linked(trial: Trial) -> None:
    (trial.rewards / "test-stdout.txt").symlink_to("reward.json")


def reward_linked(trial: Trial) -> None:
    forged = trial.rewards.parent / "forged"
    forged.write_text("1")
    (trial.rewards / "reward.txt").symlink_to(forged)
    os.link(forged, trial.rewards / "reward.json")


def folder_linked(trial: Trial) -> None:
    kept = trial.rewards.rename(trial.rewards.parent / "elsewhere")
    trial.rewards.symlink_to(kept)
    seeded(trial)


@pytest.mark.parametrize("prepare", [seeded, shadowed, log_linked, reward_linked, folder_linked])
def test_what_lay_there_before_is_no_reward(trial: Trial, prepare: Callable[[Trial], None]) -> None:
    prepare(trial)
    assert trial.answered(ZEROS).verified() == 0.0
    forged = trial.rewards.parent / "forged"
    assert not forged.exists() or forged.read_text() == "1", "written through a link"


SKIPS = {
    "unittest": "import unittest\nraise unittest.SkipTest('no device')\n",
    "pytest": "import pytest\npytest.skip('no device', allow_module_level=True)\n",
    "exit 0": "import sys\nsys.exit(0)\n",
    "exit 0 at once": "import os\nos._exit(0)\n",
    "in a call": "import unittest\n\n\ndef softmax(logits):\n    raise unittest.SkipTest('no device')\n",
    "exit in a call": "import os\n\n\ndef softmax(logits):\n    os._exit(0)\n",
}


@pytest.mark.parametrize("source", SKIPS.values(), ids=SKIPS)
def test_a_skip_is_no_pass(trial: Trial, source: str) -> None:
    assert trial.answered(source).verified() == 0.0


def to_the_reference(trial: Trial) -> None:
    trial.answer.symlink_to(trial.task / "tests" / "workspace" / "references" / "rows")


def to_its_file(trial: Trial) -> None:
    trial.answer.mkdir()
    reference = trial.task / "tests" / "workspace" / "references" / "rows" / "reference.py"
    (trial.answer / "answer.py").symlink_to(reference)


def by_its_folder(trial: Trial) -> None:
    behind = trial.answer.parent / "behind"
    behind.symlink_to(trial.task / "solution")
    trial.answer = behind / "answer"


@pytest.mark.parametrize("leave", [to_the_reference, to_its_file, by_its_folder])
def test_a_link_is_no_answer(trial: Trial, leave: Callable[[Trial], None]) -> None:
    """The verifier holds the reference: a link to it must not be followed."""
    leave(trial)
    assert trial.verified() == 0.0


@pytest.fixture
def grader_fails(trial: Trial, tmp_path: Path) -> Iterator[Trial]:
    broken = tmp_path / "task"
    shutil.copytree(trial.task, broken)
    (broken / "tests" / "workspace" / "challenges" / "rows" / "probes.py").write_text("raise OSError('no disk')\n")
    trial.task = broken
    yield trial


def test_where_the_grader_fails_there_is_no_reward(grader_fails: Trial) -> None:
    """Harbor then reports an error; a seeded reward would be a score."""
    seeded(grader_fails)
    assert grader_fails.answered(ZEROS).verified(exit_code=3) is None
    assert "no reward: " in (grader_fails.rewards / "test-stdout.txt").read_text()


def test_where_the_grader_is_not_installed_there_is_no_reward(trial: Trial, tmp_path: Path) -> None:
    seeded(trial)
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(f'#!/bin/bash\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    trial.answered(ZEROS)
    line = ["bash", str(trial.task / "tests" / "test.sh"), str(trial.answer), str(trial.rewards)]
    ended = subprocess.run(line, env={"PATH": f"{python.parent}:{os.defpath}"}, capture_output=True, check=False)
    assert ended.returncode != 0
    assert trial.reward() is None
