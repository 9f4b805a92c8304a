"""Replies without an answer: each becomes an attempt that meets nothing, by whatever way it came in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from harness.errors import ReplyError
from harness.importing.reply import ReplyImporter, submission_toml
from harness.replies.text import MAX_BYTES, reply_text
from harness.model import About, Challenge, Provenance, Submission
from harness.model.collection import SUBMISSION_FILE
from harness.model.file_names import REPLY_FILE
from harness.model.submission import Capability
from harness.model.submission_name import SubmissionName


@dataclass(frozen=True)
class UnansweredReply:
    """An `Importer` of an attempt that meets nothing, for its reply holds no answer.

    Attributes:
        name: of the submission.
        challenge: what was asked.
        data: the reply.
        reason: why it holds none, as what follows `it`.
        found: what it holds instead, a line each.
    """

    name: SubmissionName
    challenge: Challenge
    data: bytes
    reason: str
    found: Sequence[str] = ()

    @property
    def submission(self) -> Submission:
        """What its submission.toml says."""
        about = About(
            model=self.name.model, challenge=self.challenge.id, language=self.challenge.language,
            unanswered=self.reason, entry=(), provenance=Provenance.MODEL_OUTPUT, attempt=self.name.attempt,
        )  # fmt: skip
        return Submission(submission=about)

    def discover(self) -> Sequence[str]:
        """As `Importer.discover`."""
        return [str(self.name)]

    def read(self, name: str) -> Mapping[str, bytes]:
        """As `Importer.read`, the beginning of the reply included."""
        stated = submission_toml(self.submission)
        return {REPLY_FILE: self.data[:MAX_BYTES], SUBMISSION_FILE: stated.encode()}


def importer_of(
    path: str, data: bytes, name: SubmissionName, challenge: Challenge, counted: type[ReplyError],
    claimed: Mapping[str, Capability] = MappingProxyType({}),
) -> ReplyImporter | UnansweredReply:  # fmt: skip
    """Return what imports a reply: the answer in it, or the attempt without one.

    Args:
        path: of the reply, for messages.
        data: the reply.
        name: of the submission.
        challenge: what was asked.
        counted: `NoAnswerError` where somebody is there to settle a doubt, `ReplyError` where nobody is.
        claimed: options that the answer offers.

    Raises:
        ReplyError: no answer can be taken from it, for another reason than those that count.
    """
    try:
        return ReplyImporter(reply_text(path, data), name.model, challenge, name.attempt, claimed)
    except counted as error:
        return UnansweredReply(name, challenge, data, error.message, error.found)
