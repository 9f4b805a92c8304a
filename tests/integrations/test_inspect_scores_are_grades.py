"""A score of inspect_ai is the reward of a grade, and a failure of ours is no score.

Runs the real package with its mock model.
"""

import gc
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.workspace import Workspace

inspect_ai = pytest.importorskip("inspect_ai", reason="no inspect_ai: .venv/bin/python -m pip install -e '.[inspect]'")
# they are of its own dependencies
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

ZEROS = "import numpy as np\n\n\ndef softmax(logits):\n    return np.zeros_like(logits)\n"


def fenced(source: str) -> str:
    return f"Here it is.\n\n```python\n{source}```\n"


@pytest.fixture
def evaluated(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """The finished log of the task with one reply of a model, as written and read back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_WORKSPACE", str(root))

    def run(reply: str, **arguments: object) -> object:
        from inspect_ai.log import read_eval_log
        from inspect_ai.model import ModelOutput, ModelUsage, get_model

        from harness.integrations.inspect_tasks import kernel

        said = ModelOutput.from_content("mockllm/model", reply)
        said.usage = ModelUsage()  # else it fetches a tokenizer to count
        model = get_model("mockllm/model", custom_outputs=[said])
        task = kernel("rows", **{"profile": "reward", **arguments})
        (log,) = inspect_ai.eval(task, model=model, log_dir=str(tmp_path / "logs"), display="none")
        gc.collect()  # streams that it leaves open warn when they go, which is now
        assert log.status == "success", log.error
        return read_eval_log(log.location)

    return run


def score_of(log: object) -> object:
    (sample,) = log.samples
    return sample.scores["kernel_reward"]


def test_the_right_answer_scores_1_with_its_evidence(evaluated: Callable[..., object], right: str, root: Path) -> None:
    log = evaluated(fenced(right), profile="correctness")
    score = score_of(log)
    assert score.value == 1.0
    kept = score.metadata
    assert (kept["status"], kept["reward"], kept["profile"]) == ("graded", 1.0, "correctness")
    assert {e["criterion"] for e in kept["evidence"]} == {c.id for c in Workspace(root).challenge("rows").criteria}
    assert log.samples[0].input.startswith((root / "challenges" / "rows" / "PROMPT.md").read_text()[:40])
    assert log.results.scores[0].metrics["mean"].value == 1.0
    json.dumps(kept)


def test_a_wrong_answer_and_none_score_0_and_say_why(evaluated: Callable[..., object]) -> None:
    assert score_of(evaluated(fenced(ZEROS))).value == 0.0
    unanswered = score_of(evaluated("I cannot do that."))
    assert unanswered.value == 0.0
    assert "holds no answer" in unanswered.explanation


def test_a_failure_of_ours_is_unscored(
    evaluated: Callable[..., object], right: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.errors import BoxError
    from harness.grading import retry, submission_grade

    def broken(*_: object) -> object:
        raise BoxError("no room for a worker")

    monkeypatch.setattr(retry, "PAUSE", 0.0)
    monkeypatch.setattr(submission_grade, "run_stages", broken)
    log = evaluated(fenced(f"{right}\n# never graded before\n"))
    score = score_of(log)
    assert math.isnan(score.value)
    assert (score.reason, score.metadata["reward"]) == ("judge_error", None)
    assert "no room for a worker" in score.explanation
    assert (log.results.scores[0].scored_samples, log.results.scores[0].unscored_samples) == (0, 1)


PAGE = Path(__file__).parents[2] / "docs" / "plugs.md"
MOCKED = """
from inspect_ai.model import ModelOutput, ModelUsage, get_model
said = ModelOutput.from_content("mockllm/model", "no code")
said.usage = ModelUsage()
model = get_model("mockllm/model", custom_outputs=[said] * 2)
"""
BY_NAME = """
(log,) = eval("harness/rows", model=model, task_args={"profile": "reward"}, display="none")
print(log.status, log.eval.task, log.results.scores[0].metrics["mean"].value)
"""


def documented() -> str:
    """The program of the documentation, on the small challenge and the mock model."""
    (block,) = re.findall(r"^```python\n(from inspect_ai.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    told = block.replace('"kv_cache"', '"rows"').replace('model="openai/gpt-5.5"', 'model=model, display="none"')
    assert "rows" in told
    assert "model=model" in told
    return told


def test_the_page_s_program_runs_and_a_challenge_is_found_by_its_name(root: Path, tmp_path: Path) -> None:
    """`harness/CHALLENGE`, as `inspect eval` looks it up in a folder of a workspace."""
    env = {**os.environ, "INSPECT_LOG_DIR": str(tmp_path)}
    told = subprocess.run(
        [sys.executable, "-c", MOCKED + documented() + BY_NAME],
        cwd=root,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.stdout.splitlines()[-2:] == ["0.0", "success harness/rows 0.0"], told.stderr
