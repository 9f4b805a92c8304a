"""Challenges as inspect_ai tasks: https://inspect.aisi.org.uk.

The score is the reward, 0 to 1. A failure of ours leaves a sample unscored. Needs the extra `inspect`.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate
from inspect_ai.util import concurrency

from harness.errors import HarnessError
from harness.workspace import Workspace
from harness.workspace.bundled_challenges import find_bundle
from harness.workspace.submission_folders import subfolders

if TYPE_CHECKING:
    from harness.model import Record

PACKAGE = "harness"
"""Prefix of the tasks: `harness/CHALLENGE`."""
JUDGE_ERROR = "judge_error"
"""Machine-readable reason of an unscored sample."""


@task
def kernel(challenge: str, profile: str = "correctness", workspace: str | None = None) -> Task:
    """Return the task of one challenge: its prompt as the only sample, its grader as the scorer.

    See `ReplyGrader` for the arguments and errors.
    """
    from harness.asking.task import task_prompt

    place = Workspace.find() if workspace is None else Workspace.at(Path(workspace))
    sample = Sample(id=challenge, input=task_prompt(place, challenge), metadata={"challenge": challenge})
    return Task(dataset=[sample], solver=generate(), scorer=kernel_reward(challenge, profile, str(place.root)))


@scorer(metrics=[mean(), stderr()])
def kernel_reward(challenge: str, profile: str = "correctness", workspace: str | None = None) -> Scorer:
    """Return a scorer of the files in a reply's Markdown; see `ReplyGrader`."""
    from harness.integrations.reply_grade import ReplyGrader

    grader = ReplyGrader(challenge, profile, workspace)

    async def score(state: TaskState, target: Target) -> Score:
        # one grade per processor, whatever the number of samples in flight
        async with concurrency(PACKAGE, len(os.sched_getaffinity(0))):
            return _build_score(await anyio.to_thread.run_sync(grader.grade, state.output.completion))

    return score


def _build_score(record: "Record") -> Score:
    from harness.integrations.reply_grade import explanation, pick_fields

    found, kept = explanation(record), pick_fields(record)
    if record.reward is None:
        return Score.unscored(reason=JUDGE_ERROR, explanation=found, metadata=kept)
    return Score(value=record.reward, explanation=found, metadata=kept)


def _list_challenges() -> list[str]:
    with suppress(HarnessError):
        return Workspace.find().challenges()
    with suppress(HarnessError):
        return subfolders(find_bundle() / "challenges", "challenge.toml")
    return []


def _register(challenge: str) -> None:
    def build(profile: str = "correctness", workspace: str | None = None) -> Task:
        return kernel(challenge, profile, workspace)

    # inspect_ai prefixes the tasks of an installed package itself
    installed = "site-packages" in Path(__file__).parts
    task(name=challenge if installed else f"{PACKAGE}/{challenge}")(build)


for _id in _list_challenges():
    _register(_id)
