"""Attempts from replies without a usable submission.

One without a submission meets no criterion. An ambiguous one is not graded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from harness.errors import AmbiguousReplyError, NoAnswerError, ReplyError
from harness.importing.reply import ReplyImporter, submission_toml
from harness.model import About, Challenge, Provenance, Submission
from harness.model.submissions.collection import SUBMISSION_FILE
from harness.model.submissions.file_names import REPLY_FILE
from harness.model.submissions.name import SubmissionName
from harness.model.submissions.submission import Capability
from harness.replies.text import MAX_BYTES, reply_text


@dataclass(frozen=True)
class UnansweredReply:
    """An `Importer` of an attempt without files.

    Attributes:
        reason: why the reply gives no submission, to follow the word `it`.
        found: its blocks, a line each.
        unread: true for an ambiguous reply.
    """

    name: SubmissionName
    challenge: Challenge
    data: bytes
    reason: str
    found: Sequence[str] = ()
    unread: bool = False

    @property
    def submission(self) -> Submission:
        """Content of its submission.toml."""
        about = About(
            model=self.name.model,
            challenge=self.challenge.id,
            language=self.challenge.language,
            unanswered=None if self.unread else self.reason,
            unread=self.reason if self.unread else None,
            entry=(),
            provenance=Provenance.MODEL_OUTPUT,
            attempt=self.name.attempt,
        )
        return Submission(submission=about)

    def discover(self) -> Sequence[str]:
        """See `Importer`."""
        return [str(self.name)]

    def read(self, name: str) -> Mapping[str, bytes]:
        """See `Importer`; the reply is included, cut to the size limit."""
        stated = submission_toml(self.submission)
        return {REPLY_FILE: self.data[:MAX_BYTES], SUBMISSION_FILE: stated.encode()}


def importer_of(
    path: str,
    data: bytes,
    name: SubmissionName,
    challenge: Challenge,
    claimed: Mapping[str, Capability] = MappingProxyType({}),
    take: Mapping[int, str] = MappingProxyType({}),
) -> ReplyImporter | UnansweredReply:
    """Return the importer of a reply whose errors a person can settle.

    Args:
        claimed, take: see `ReplyImporter`.

    Raises:
        ReplyError: the reply is ambiguous or unreadable.
    """
    try:
        return ReplyImporter(reply_text(path, data), name.model, challenge, name.attempt, claimed, take)
    except NoAnswerError as error:
        return UnansweredReply(name, challenge, data, error.message, error.found)


def importer_in_batch(
    path: str, data: bytes, name: SubmissionName, challenge: Challenge
) -> ReplyImporter | UnansweredReply:
    """Return the importer of one of many replies; an ambiguous one becomes an attempt.

    Raises:
        ReplyError: the reply is unreadable.
    """
    try:
        return importer_of(path, data, name, challenge)
    except AmbiguousReplyError as error:
        return UnansweredReply(name, challenge, data, error.message, error.found, unread=True)


def importer_alone(
    path: str, data: bytes, name: SubmissionName, challenge: Challenge
) -> ReplyImporter | UnansweredReply:
    """Return the importer of a reply that cannot be corrected; any error makes it an attempt."""
    try:
        return importer_in_batch(path, data, name, challenge)
    except ReplyError as error:
        return UnansweredReply(name, challenge, data, error.message, error.found)
