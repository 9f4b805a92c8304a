"""Grading of raw replies, for frameworks that pass text."""

import os
from pathlib import Path

from harness.api import grade
from harness.importing.reply import lay_out_reply
from harness.importing.unanswered import importer_alone
from harness.model import Record
from harness.model.submissions.file_names import REPLY_FILE
from harness.model.submissions.name import SubmissionName
from harness.sandbox.confinement import scratch
from harness.workspace import Workspace

MODEL = "reply"
"""Model name in the records; the framework keeps the real one."""
FIELDS = ("status", "reward", "seed", "profile", "error", "environment", "build", "findings", "evidence")
"""Fields of a record that a framework stores beside a score."""


class ReplyGrader:
    """Grades replies to one challenge; thread-safe.

    Args:
        profile: usually "reward" or "correctness".
        workspace: folder that holds challenges/; found from the current folder by default.

    Raises:
        NotFoundError: the challenge or the workspace is missing.
    """

    def __init__(self, challenge: str, profile: str, workspace: str | os.PathLike[str] | None = None) -> None:
        self.workspace = Workspace.find() if workspace is None else Workspace.at(Path(workspace))
        self.challenge = self.workspace.challenge(challenge)
        self._profile = profile

    def grade(self, reply: str) -> Record:
        """Return the record of a reply, even without a submission; that of an ambiguous one has no reward.

        Raises:
            HarnessError: grading is impossible here.
        """
        name, data = SubmissionName(MODEL, self.challenge.id), reply.encode(errors="replace")
        with scratch.folder() as place:
            folder = place.joinpath(*name.parts)
            lay_out_reply(importer_alone(REPLY_FILE, data, name, self.challenge), folder)
            return grade(folder, workspace=self.workspace.root, profile=self._profile)


def explanation(record: Record) -> str:
    """Return the findings, a line each, or why the reward is missing."""
    if record.reward is None:
        return f"not graded: {record.error or 'the anchor could not be assessed'}"
    return "\n".join(f"{finding.severity}: {finding.title}" for finding in record.findings) or "nothing was found"


def pick_fields(record: Record) -> dict[str, object]:
    """Return the fields to store beside a score, as JSON values."""
    printed = record.to_json_values()
    return {name: printed[name] for name in FIELDS if name in printed}
