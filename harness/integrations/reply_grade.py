"""Grades of models' raw replies, for frameworks that hand over text."""

import os
from pathlib import Path

from harness.api import grade
from harness.importing.reply import lay_out_reply
from harness.importing.unanswered import importer_alone
from harness.model import Record
from harness.model.file_names import REPLY_FILE
from harness.model.submission_name import SubmissionName
from harness.sandbox import scratch
from harness.workspace import Workspace

MODEL = "reply"
"""Who answered, in the record: the framework knows, and the grader need not."""
FIELDS = ("status", "reward", "seed", "profile", "error", "environment", "build", "findings", "evidence")
"""Of a record, what a framework stores beside a score."""


class ReplyGrader:
    """Grades replies to one challenge; may be called from many threads.

    Args:
        challenge: its id.
        profile: what is run, "reward" or "correctness" as a rule.
        workspace: folder that holds challenges/; found from the current folder by default.

    Raises:
        NotFoundError: there is no such challenge, or no workspace.
    """

    def __init__(self, challenge: str, profile: str, workspace: str | os.PathLike[str] | None = None) -> None:
        self.workspace = Workspace.find() if workspace is None else Workspace.at(Path(workspace))
        self.challenge = self.workspace.challenge(challenge)
        self._profile = profile

    def grade(self, reply: str) -> Record:
        """The record of what a reply answers: of one that holds no answer as well, and one
        without a reward of a reply that could not be read with certainty.

        Raises:
            HarnessError: nothing can be graded here at all.
        """
        name, data = SubmissionName(MODEL, self.challenge.id), reply.encode(errors="replace")
        with scratch.folder() as place:
            folder = place.joinpath(*name.parts)
            lay_out_reply(importer_alone(REPLY_FILE, data, name, self.challenge), folder)
            return grade(folder, workspace=self.workspace.root, profile=self._profile)


def explanation(record: Record) -> str:
    """What was found, a line each; why there is no reward where there is none."""
    if record.reward is None:
        return f"not graded: {record.error or 'the anchor could not be assessed'}"
    return "\n".join(f"{finding.severity}: {finding.title}" for finding in record.findings) or "nothing was found"


def stored(record: Record) -> dict[str, object]:
    """The part of a record to keep beside a score, as JSON values."""
    printed = record.printed()
    return {name: printed[name] for name in FIELDS if name in printed}
