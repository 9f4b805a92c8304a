"""From the replies of an attempt to a submission: the last one that holds an answer, or the reason why none does."""

from collections.abc import Mapping

from harness.errors import AmbiguousReplyError, ReplyError
from harness.importing.reply import ReplyImporter, submission_toml
from harness.importing.unanswered import UnansweredReply
from harness.model import Asked, Challenge, Submission, Turn
from harness.model.collection import SUBMISSION_FILE
from harness.model.file_names import REPLY_FILE
from harness.model.submission_name import SubmissionName
from harness.replies.text import reply_text

CUT_OFF = "length"
"""What servers call the end of a reply at a limit of tokens."""


def read_turn(turn: Turn, name: str, challenge: Challenge) -> ReplyImporter:
    """The answer in one reply.

    Args:
        turn: the reply.
        name: of the model's folder.
        challenge: what was asked.

    Raises:
        ReplyError: it holds none that can be told.
    """
    return ReplyImporter(reply_text(REPLY_FILE, turn.reply.encode()), name, challenge)


def why_unanswered(turn: Turn, error: ReplyError) -> str:
    """Why a reply holds no answer, as what follows `it`: what the server says of it comes first."""
    if turn.finish == CUT_OFF:
        return "was cut off at the limit of tokens" + (f" ({turn.completion_tokens})" if turn.completion_tokens else "")
    if turn.refusal:
        return f"is a refusal: {turn.refusal}"
    return error.message


def answer_files(asked: Asked, name: str, challenge: Challenge, attempt: int) -> tuple[Mapping[str, bytes], Asked]:
    """The files of an attempt's submission, and the attempt with the turn they come from.

    Of several turns the last reply that holds an answer counts, whatever its marks: choosing the best would choose by
    what only the grader knows. Where a reply after it could not be read with certainty, none counts.

    Args:
        asked: what came; at least one turn.
        name: of the model's folder.
        challenge: what was asked.
        attempt: its number.
    """
    reason = ""
    for number, turn in reversed(list(enumerate(asked.turns, 1))):
        try:
            importer = read_turn(turn, name, challenge)
        except AmbiguousReplyError as error:
            return _without_files(asked.model_copy(update={"unread": error.message}), name, challenge, attempt)
        except ReplyError as error:
            reason = reason or why_unanswered(turn, error)
            continue
        found = asked.model_copy(update={"answered_by": number})
        (only,) = importer.discover()
        return {**importer.read(only), SUBMISSION_FILE: _stated(importer.found.submission, found, attempt)}, found
    return _without_files(asked.model_copy(update={"unanswered": reason}), name, challenge, attempt)


def _without_files(
    asked: Asked, name: str, challenge: Challenge, attempt: int
) -> tuple[Mapping[str, bytes], Asked]:  # fmt: skip
    reply, reason = asked.turns[-1].reply.encode(), asked.unread or asked.unanswered or ""
    importer = UnansweredReply(
        SubmissionName(name, challenge.id, attempt), challenge, reply, reason, unread=asked.unread is not None
    )
    (only,) = importer.discover()
    return {**importer.read(only), SUBMISSION_FILE: _stated(importer.submission, asked, attempt)}, asked


def _stated(submission: Submission, asked: Asked, attempt: int) -> bytes:
    """The submission.toml of an attempt."""
    made = {"turns": asked.settings.turns, "date": asked.began.date(), "generator": _generator(asked)}
    about = submission.about.model_copy(update={**made, "attempt": attempt})
    return submission_toml(submission.model_copy(update={"about": about})).encode()


def _generator(asked: Asked) -> str:
    """What made the answer, in a line."""
    settings = asked.settings
    stated = {"temperature": settings.temperature, "max tokens": settings.max_tokens, "seed": settings.seed}
    told = [f"{name} {value:g}" for name, value in stated.items() if value is not None]
    return ", ".join([asked.turns[-1].model or settings.model, *told])[:500]
