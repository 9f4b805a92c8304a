"""A reward of verifiers is that of a grade, and a failure of ours is an error of the rollout.

Builds tasks and scores traces with the real package; no agent runs.
"""

import asyncio
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("verifiers.v1", reason="no verifiers: .venv/bin/python -m pip install -e '.[verifiers]'")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

ZEROS = "import numpy as np\n\n\ndef softmax(logits):\n    return np.zeros_like(logits)\n"


def scored(root: Path, source: str) -> object:
    """The trace of one reply, scored by the task of the environment."""
    import verifiers.v1 as vf

    from harness.integrations.verifiers_tasks import load_environment

    environment = load_environment("rows", workspace=str(root))
    (task,) = environment.taskset
    assert task.data.prompt.startswith((root / "challenges" / "rows" / "PROMPT.md").read_text()[:40])
    agent = vf.AgentInfo(config=vf.AgentConfig())
    about = vf.TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash)
    reply = vf.AssistantMessage(content=f"```python\n{source}```\n")
    trace = vf.Trace(task=about, agent=agent, nodes=[vf.MessageNode(message=reply, sampled=True)])
    asyncio.run(task.score(trace))
    return trace


def test_the_page_s_program_prints_the_prompt(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HARNESS_WORKSPACE", str(root))
    page = (Path(__file__).parents[2] / "docs" / "plugs.md").read_text()
    (block,) = re.findall(r"^```python\n(from harness.integrations.verifiers.*?)^```", page, re.DOTALL | re.MULTILINE)
    exec(compile(block.replace("kv_cache", "rows"), "docs/plugs.md", "exec"), {})
    assert (root / "challenges" / "rows" / "PROMPT.md").read_text()[:40] in capsys.readouterr().out


def test_the_right_answer_earns_1_and_no_work_0(root: Path, right: str) -> None:
    trace = scored(root, right)
    assert trace.reward == 1.0
    assert trace.info["harness"]["status"] == "graded"
    assert json.loads(trace.model_dump_json())["info"]["harness"]["evidence"]
    assert scored(root, ZEROS).reward == 0.0


def test_a_failure_of_ours_is_an_error_and_no_reward(root: Path, right: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import verifiers.v1 as vf

    from harness.errors import BoxError
    from harness.grading import retry, submission_grade

    def broken(*_: object) -> object:
        raise BoxError("no room for a worker")

    monkeypatch.setattr(retry, "PAUSE", 0.0)
    monkeypatch.setattr(submission_grade, "run_stages", broken)
    with pytest.raises(vf.TaskError, match="no room for a worker"):
        scored(root, f"{right}\n# never graded before\n")
