"""Choice of an attempt's reply."""

from collections.abc import Mapping

from harness.errors import AmbiguousReplyError, ReplyError
from harness.importing.reply import ReplyImporter, submission_toml
from harness.importing.unanswered import UnansweredReply
from harness.model import Asked, Challenge, Submission, Turn
from harness.model.submissions.collection import SUBMISSION_FILE
from harness.model.submissions.file_names import REPLY_FILE
from harness.model.submissions.name import SubmissionName
from harness.replies.text import reply_text

CUT_OFF = "length"
"""Servers' name for the end of a reply at the token limit."""


def read_turn(turn: Turn, name: str, challenge: Challenge) -> ReplyImporter:
    """Return the importer of a turn's reply; `name` is the model's folder.

    Raises:
        ReplyError: the reply holds no unambiguous submission.
    """
    return ReplyImporter(reply_text(REPLY_FILE, turn.reply.encode()), name, challenge)


def explain_missing_answer(turn: Turn, error: ReplyError) -> str:
    """Return why a reply holds no submission, to follow the word `it`; the server's reason comes first."""
    if turn.finish == CUT_OFF:
        return "was cut off at the limit of tokens" + (f" ({turn.completion_tokens})" if turn.completion_tokens else "")
    if turn.refusal:
        return f"is a refusal: {turn.refusal}"
    return error.message


def answer_files(asked: Asked, name: str, challenge: Challenge, attempt: int) -> tuple[Mapping[str, bytes], Asked]:
    """Return the files of an attempt's submission, and the attempt with the turn they come from.

    The last reply with a submission counts, whatever its grade: choosing the best would use what only the grader knows.
    If a later reply is ambiguous, none counts.
    """
    reason = ""
    for number, turn in reversed(list(enumerate(asked.turns, 1))):
        try:
            importer = read_turn(turn, name, challenge)
        except AmbiguousReplyError as error:
            return _build_without_files(asked.model_copy(update={"unread": error.message}), name, challenge, attempt)
        except ReplyError as error:
            reason = reason or explain_missing_answer(turn, error)
            continue
        found = asked.model_copy(update={"answered_by": number})
        (only,) = importer.discover()
        return {
            **importer.read(only),
            SUBMISSION_FILE: _render_submission_toml(importer.found.submission, found, attempt),
        }, found
    return _build_without_files(asked.model_copy(update={"unanswered": reason}), name, challenge, attempt)


def _build_without_files(
    asked: Asked, name: str, challenge: Challenge, attempt: int
) -> tuple[Mapping[str, bytes], Asked]:
    reply, reason = asked.turns[-1].reply.encode(), asked.unread or asked.unanswered or ""
    importer = UnansweredReply(
        SubmissionName(name, challenge.id, attempt), challenge, reply, reason, unread=asked.unread is not None
    )
    (only,) = importer.discover()
    return {**importer.read(only), SUBMISSION_FILE: _render_submission_toml(importer.submission, asked, attempt)}, asked


def _render_submission_toml(submission: Submission, asked: Asked, attempt: int) -> bytes:
    made = {"turns": asked.settings.turns, "date": asked.began.date(), "generator": _describe_generator(asked)}
    about = submission.about.model_copy(update={**made, "attempt": attempt})
    return submission_toml(submission.model_copy(update={"about": about})).encode()


def _describe_generator(asked: Asked) -> str:
    settings = asked.settings
    stated = {"temperature": settings.temperature, "max tokens": settings.max_tokens, "seed": settings.seed}
    told = [f"{name} {value:g}" for name, value in stated.items() if value is not None]
    return ", ".join([asked.turns[-1].model or settings.model, *told])[:500]
