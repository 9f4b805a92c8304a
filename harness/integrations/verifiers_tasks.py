"""Challenges as a taskset of verifiers, whose reward is a grade: https://docs.primeintellect.ai/verifiers.

Where our side fails the reward raises: verifiers records the error on the trace, whose reward stays unset. Needs the
extra `verifiers`.
"""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import verifiers.v1 as vf

from harness.asking.task import task_prompt
from harness.errors import JudgeError
from harness.integrations.reply_grade import ReplyGrader, explanation, stored
from harness.workspace import Workspace

if TYPE_CHECKING:
    from harness.model import Record

__all__ = ["KernelTaskset", "load_environment"]

TASKSET = "harness_kernels"
"""The id of the taskset: the module that exports it."""
_AT_A_TIME = asyncio.Semaphore(len(os.sched_getaffinity(0)))
"""Grades of this process, whatever the number of rollouts in flight."""


class KernelConfig(vf.TasksetConfig):
    """Which challenges, how they are graded, and where they are; all of this workspace's by default."""

    challenges: tuple[str, ...] = ()
    profile: str = "reward"
    workspace: str | None = None


class KernelData(vf.TaskData):
    """What a task needs to grade its replies."""

    challenge: str
    profile: str
    workspace: str


class KernelTask(vf.Task[KernelData, vf.State]):
    """One challenge."""

    @vf.reward
    async def kernel_reward(self, trace: vf.Trace) -> float:
        """The reward of the last reply, 0 to 1; what was found is `trace.info["harness"]`.

        Raises:
            JudgeError: our side failed: nothing can be said of the answer.
        """
        async with _AT_A_TIME:
            record = await asyncio.to_thread(self._grade, trace.last_reply)
        trace.info["harness"] = stored(record)
        if record.reward is None:
            raise JudgeError(explanation(record))
        return record.reward

    def _grade(self, reply: str) -> "Record":
        return ReplyGrader(self.data.challenge, self.data.profile, self.data.workspace).grade(reply)


class KernelTaskset(vf.Taskset[KernelTask, KernelConfig]):
    """A task for each challenge: its prompt is what the model is asked."""

    def load(self) -> Iterator[KernelTask]:
        """The tasks.

        Raises:
            NotFoundError: there is no such challenge, or no workspace.
        """
        given = self.config.workspace
        place = Workspace.find() if given is None else Workspace.at(Path(given))
        for id in self.config.challenges or place.challenges():
            data = KernelData(
                id=id, name=id, prompt=task_prompt(place, id), challenge=id, profile=self.config.profile,
                workspace=str(place.root),
            )  # fmt: skip
            yield KernelTask(data, self.config.task)


def load_environment(challenge: str, profile: str = "reward", workspace: str | None = None) -> vf.SingleAgentEnv:
    """An environment of one challenge, played by one agent."""
    config = KernelConfig(id=TASKSET, challenges=(challenge,), profile=profile, workspace=workspace)
    return vf.SingleAgentEnv(vf.SingleAgentEnvConfig(taskset=config))
