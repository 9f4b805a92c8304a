"""Everything about a grade that is fixed before the submission's code is loaded."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from harness.errors import PrerequisiteError, SpecError
from harness.model import Challenge, Environment, Limits, Submission
from harness.probing import AnswerFiles, ChallengeCode
from harness.running.content_key import content_key, environment
from harness.running.options import Options, Progress, no_progress
from harness.sandbox import Snapshot, detect, hash_folder, snapshot
from harness.workspace import Workspace

if TYPE_CHECKING:
    from harness.cuda.gpu import GpuDevice


@dataclass(frozen=True)
class Job:
    """One submission about to be graded."""

    workspace: Workspace
    challenge: Challenge
    submission: Submission
    files: Snapshot
    options: Options
    progress: Progress
    gpu: "GpuDevice | None" = None

    @cached_property
    def seed(self) -> int:
        """Seed of the run: drawn for this grade, unless one was chosen by hand."""
        return int.from_bytes(os.urandom(6), "big") if self.options.seed is None else self.options.seed

    @cached_property
    def environment(self) -> Environment:
        """This machine, as the answer meets it."""
        if self.challenge.language == "python":
            return environment(detect())
        from harness.cuda.toolchain import versions

        return environment(detect(), self.gpu.name if self.gpu else "emulated", versions())

    @cached_property
    def key(self) -> str:
        """The content key of the grade."""
        settings = {"full": self.options.full, "limits": self.challenge.limits.model_dump()}
        return content_key(self.workspace, self.challenge.id, self.files.hashes, settings, self.environment)

    @cached_property
    def code(self) -> ChallengeCode:
        """The challenge's own code."""
        return ChallengeCode(self.workspace, self.challenge)

    @property
    def answer(self) -> AnswerFiles:
        """What is opened in the box."""
        return AnswerFiles(self.files.path, self.submission.entries, self.submission.capabilities)


@contextmanager
def prepared(
    workspace: Workspace, folder: Path, options: Options, progress: Progress = no_progress, *, copied: bool = True
) -> Iterator[Job]:
    """The job of one submission, its files copied for the length of the block.

    Args:
        workspace: where the challenges are.
        folder: the submission; anywhere.
        options: how to grade.
        progress: told the name of each stage as it begins.
        copied: False for a job that is never run: its files stay where they are.

    Raises:
        HarnessError: the submission or challenge is malformed, or the machine lacks something.
    """
    submission = workspace.answer(folder).submission
    challenge = _limited(workspace.challenge(submission.about.challenge), options)
    if submission.about.language != challenge.language:
        raise SpecError(
            folder / "submission.toml", f"is {submission.about.language!r}; {challenge.id} is answered in "
            f"{challenge.language!r}", field="submission.language",
        )  # fmt: skip
    gpu = _gpu(challenge, options)
    with snapshot(folder) if copied else nullcontext(Snapshot(folder, hash_folder(folder))) as files:
        for name in submission.entries:
            if name not in files.hashes:
                problem = f"names {name!r}, which is not in what is graded of {folder}"
                raise SpecError(folder / "submission.toml", problem, field="submission.entry")
        yield Job(workspace, challenge, submission, files, options, progress, gpu)


def _gpu(challenge: Challenge, options: Options) -> "GpuDevice | None":
    """The GPU that answers are to run on.

    Raises:
        PrerequisiteError: one was asked for, and there is none.
    """
    if challenge.language == "python" or options.device == "emulated":
        return None
    from harness.cuda.gpu import gpu_device
    from harness.cuda.nvcc import nvcc

    gpu = gpu_device()
    if options.device == "gpu" and gpu is None:
        raise PrerequisiteError("no GPU here\n  try: --device emulated")
    return gpu if options.device == "gpu" or nvcc() is not None else None


def _limited(challenge: Challenge, options: Options) -> Challenge:
    if not options.limits:
        return challenge
    try:
        limits = Limits.model_validate({**challenge.limits.model_dump(), **options.limits})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        known = ", ".join(Limits.model_fields)
        raise SpecError("limits", f"{first['msg']}; limits are {known}", field=name) from None
    return challenge.model_copy(update={"limits": limits})
