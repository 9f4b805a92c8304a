"""Challenges as a verifiers taskset: https://docs.primeintellect.ai/verifiers.

On a failure of ours the reward function raises, and verifiers records the error without a reward. Needs the extra
`verifiers`.
"""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import verifiers.v1 as vf

from harness.asking.task import task_prompt
from harness.errors import JudgeError
from harness.integrations.reply_grade import ReplyGrader, explanation, pick_fields
from harness.workspace import Workspace

if TYPE_CHECKING:
    from harness.model import Record

__all__ = ["KernelTaskset", "load_environment"]

TASKSET = "harness_kernels"
"""Id of the taskset: the module that exports it."""
_AT_A_TIME = asyncio.Semaphore(len(os.sched_getaffinity(0)))
"""Bound on concurrent grades of this process, whatever the number of rollouts."""


class KernelConfig(vf.TasksetConfig):
    """Choice of challenges, profile and workspace; by default all challenges of the current workspace."""

    challenges: tuple[str, ...] = ()
    profile: str = "reward"
    workspace: str | None = None


class KernelData(vf.TaskData):
    """Arguments of a task's grader."""

    challenge: str
    profile: str
    workspace: str


class KernelTask(vf.Task[KernelData, vf.State]):
    """One challenge."""

    @vf.reward
    async def kernel_reward(self, trace: vf.Trace) -> float:
        """Return the reward of the last reply, 0 to 1, and store the findings in `trace.info["harness"]`.

        Raises:
            JudgeError: grading failed on our side.
        """
        async with _AT_A_TIME:
            record = await asyncio.to_thread(self._grade, trace.last_reply)
        trace.info["harness"] = pick_fields(record)
        if record.reward is None:
            raise JudgeError(explanation(record))
        return record.reward

    def _grade(self, reply: str) -> "Record":
        return ReplyGrader(self.data.challenge, self.data.profile, self.data.workspace).grade(reply)


class KernelTaskset(vf.Taskset[KernelTask, KernelConfig]):
    """One task per challenge, with the challenge's prompt."""

    def load(self) -> Iterator[KernelTask]:
        """Yield the tasks.

        Raises:
            NotFoundError: a challenge or the workspace is missing.
        """
        given = self.config.workspace
        place = Workspace.find() if given is None else Workspace.at(Path(given))
        for id in self.config.challenges or place.challenges():
            data = KernelData(
                id=id,
                name=id,
                prompt=task_prompt(place, id),
                challenge=id,
                profile=self.config.profile,
                workspace=str(place.root),
            )
            yield KernelTask(data, self.config.task)


def load_environment(challenge: str, profile: str = "reward", workspace: str | None = None) -> vf.SingleAgentEnv:
    """Return a single-agent environment of one challenge."""
    config = KernelConfig(id=TASKSET, challenges=(challenge,), profile=profile, workspace=workspace)
    return vf.SingleAgentEnv(vf.SingleAgentEnvConfig(taskset=config))
