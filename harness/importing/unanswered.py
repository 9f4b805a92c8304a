"""Replies of which no answer is taken: each becomes an attempt of its own kind, by whatever way it came in.

One that holds no answer meets nothing. One that could not be read with certainty is not graded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from harness.errors import AmbiguousReplyError, NoAnswerError, ReplyError
from harness.importing.reply import ReplyImporter, submission_toml
from harness.model import About, Challenge, Provenance, Submission
from harness.model.collection import SUBMISSION_FILE
from harness.model.file_names import REPLY_FILE
from harness.model.submission import Capability
from harness.model.submission_name import SubmissionName
from harness.replies.text import MAX_BYTES, reply_text


@dataclass(frozen=True)
class UnansweredReply:
    """An `Importer` of an attempt without files.

    Attributes:
        name: of the submission.
        challenge: what was asked.
        data: the reply.
        reason: why no answer is taken from it, as what follows `it`.
        found: what it holds instead, a line each.
        unread: whether it could not be read with certainty; else it holds no answer.
    """

    name: SubmissionName
    challenge: Challenge
    data: bytes
    reason: str
    found: Sequence[str] = ()
    unread: bool = False

    @property
    def submission(self) -> Submission:
        """What its submission.toml says."""
        about = About(
            model=self.name.model, challenge=self.challenge.id, language=self.challenge.language,
            unanswered=None if self.unread else self.reason, unread=self.reason if self.unread else None, entry=(),
            provenance=Provenance.MODEL_OUTPUT, attempt=self.name.attempt,
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
    path: str, data: bytes, name: SubmissionName, challenge: Challenge,
    claimed: Mapping[str, Capability] = MappingProxyType({}), take: Mapping[int, str] = MappingProxyType({}),
) -> ReplyImporter | UnansweredReply:  # fmt: skip
    """Return what imports a reply, where somebody is there to settle a doubt: its answer, or the attempt without one.

    Args:
        path: of the reply, for messages.
        data: the reply.
        name: of the submission.
        challenge: what was asked.
        claimed: options that the answer offers.
        take: the blocks that are the answer, by number, and their names or ""; empty where the reply itself says it.

    Raises:
        ReplyError: no answer can be taken from it, for another reason than that there is none.
    """
    try:
        return ReplyImporter(reply_text(path, data), name.model, challenge, name.attempt, claimed, take)
    except NoAnswerError as error:
        return UnansweredReply(name, challenge, data, error.message, error.found)


def importer_in_batch(
    path: str, data: bytes, name: SubmissionName, challenge: Challenge
) -> ReplyImporter | UnansweredReply:
    """Read one of many replies with `importer_of`; one that leaves a choice becomes an attempt as well.

    Raises:
        ReplyError: no answer can be taken from it, and what is wrong with it is certain.
    """
    try:
        return importer_of(path, data, name, challenge)
    except AmbiguousReplyError as error:
        return UnansweredReply(name, challenge, data, error.message, error.found, unread=True)


def importer_alone(
    path: str, data: bytes, name: SubmissionName, challenge: Challenge
) -> ReplyImporter | UnansweredReply:
    """Read a reply that nobody can mend with `importer_in_batch`; any that is not read becomes an attempt."""
    try:
        return importer_in_batch(path, data, name, challenge)
    except ReplyError as error:
        return UnansweredReply(name, challenge, data, error.message, error.found)
