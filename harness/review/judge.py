"""A model as judge: asked several times, in both orders, with its quotes checked."""

import datetime
import secrets
import statistics
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from harness.errors import JudgeError, NotFoundError
from harness.model import Mark, Preference, Quote, Reviewer, ReviewerKind, identifier
from harness.review.judge_prompt import Prompt, Questions
from harness.review.judge_reply import JudgedMark, MarksReply, PairReply, Refused, Reply, parse
from harness.review.material import Material

TRIES = 3
"""Most requests per usable reply."""

Ask = Callable[[Prompt], str]
"""Sends one prompt; `JudgeError` if the server fails."""
Notify = Callable[[str], None]
"""Receives a line after each repeat."""
Lost = str
"""Reason for an unusable repeat."""


def reviewer(model: str, questions: Questions, date: datetime.date) -> Reviewer:
    """Return a model as a reviewer, with its name as id.

    Raises:
        NotFoundError: no id can be made of the name.
    """
    id = identifier(model)
    if not id:
        raise NotFoundError(f"no id can be made of the model name {model[:80]!r}\n  it needs a letter or a digit")
    return Reviewer(kind=ReviewerKind.MODEL, id=id, date=date, prompt_hash=questions.hash)


def mark(
    ask: Ask, questions: Questions, material: Material, repeats: int, notify: Notify
) -> tuple[tuple[Mark, ...], tuple[Lost, ...]]:
    """Return each question's median mark, with all repeats and the remark nearest the median."""

    def read(text: str) -> MarksReply:
        reply = parse(text, MarksReply, questions.ids)
        for answer in reply.answers:
            _check_quotes(material, answer)
        return reply

    replies, lost = _repeat(ask, partial(questions.to_mark, material), read, repeats, notify)
    return tuple(_mark(id, replies, material) for id in questions.ids), lost


def compare(
    ask: Ask, questions: Questions, pair: tuple[Material, Material], other: str, repeats: int, notify: Notify
) -> tuple[tuple[Preference, ...], tuple[Lost, ...]]:
    """Ask which of two submissions answers each question better, `repeats` times in each order.

    Wins and losses refer to the first of `pair`; `other` is the model of the second.
    """
    answer, rival = pair

    def read(text: str) -> PairReply:
        return parse(text, PairReply, questions.ids)

    first, lost = _repeat(ask, partial(questions.to_compare, answer, rival), read, repeats, notify)
    second, lost_too = _repeat(ask, partial(questions.to_compare, rival, answer), read, repeats, notify)
    found = (
        _make_preference(id, other, _convert_verdicts(id, first, "first"), _convert_verdicts(id, second, "second"))
        for id in questions.ids
    )
    return tuple(found), (*lost, *lost_too)


def _repeat(
    ask: Ask, asked: Callable[[str, str], Prompt], read: Callable[[str], Reply], repeats: int, notify: Notify
) -> tuple[list[Reply], tuple[Lost, ...]]:
    """Return the usable replies, and why the others are lost; `JudgeError` if none is usable."""
    replies: list[Reply] = []
    lost: list[str] = []
    for number in range(1, repeats + 1):
        try:
            replies.append(_ask_until_usable(ask, asked, read))
            notify(f"reply {number} of {repeats}")
        except Refused as error:
            lost.append(str(error))
            notify(f"reply {number} of {repeats} is lost: {error}")
        except JudgeError as error:
            if not replies:
                raise
            lost.append(str(error).splitlines()[0])
            notify(f"no more replies: {lost[-1]}")
            break  # keep the replies already paid for
    if not replies:
        raise JudgeError(
            f"none of {repeats} replies could be used, each asked for {TRIES} times; the last: {lost[-1]}\n"
            "  nothing was written; another --model may do better"
        )
    return replies, tuple(lost)


def _ask_until_usable(ask: Ask, asked: Callable[[str, str], Prompt], read: Callable[[str], Reply]) -> Reply:
    refused = ""
    for _ in range(TRIES):
        # a new nonce per request, which neither the submission nor an earlier reply can contain
        try:
            return read(ask(asked(secrets.token_hex(16), refused)))
        except Refused as error:
            refused = str(error)
    raise Refused(refused)


def _check_quotes(material: Material, answer: JudgedMark) -> tuple[Quote, ...]:
    """Return the quotes as in the original files.

    Raises:
        Refused: a quote is not there.
    """
    found = []
    for words in answer.quotes:
        quote = material.quote(words.file, words.text)
        if quote is None:
            raise Refused(f"question {answer.question!r}: {words.file[:80]!r} does not say {words.text[:120]!r}")
        found.append(quote)
    return tuple(found)


def _mark(id: str, replies: Iterable[MarksReply], material: Material) -> Mark:
    answers = [answer for reply in replies for answer in reply.answers if answer.question == id]
    middle = statistics.median(answer.mark for answer in answers)
    nearest = min(answers, key=lambda answer: abs(answer.mark - middle))
    return Mark(
        target=id,
        mark=middle,
        remark=nearest.remark,
        quotes=_check_quotes(material, nearest),
        repeats=tuple(answer.mark for answer in answers),
    )


def _convert_verdicts(id: str, replies: Iterable[PairReply], shown_as: str) -> list[int]:
    found = [answer.better for reply in replies for answer in reply.answers if answer.question == id]
    return [0 if better == "equal" else 1 if better == shown_as else -1 for better in found]


def _make_preference(id: str, other: str, first: Sequence[int], second: Sequence[int]) -> Preference:
    both = [*first, *second]
    return Preference(
        target=id,
        other=other,
        wins=both.count(1),
        losses=both.count(-1),
        ties=both.count(0),
        undecided=_sign(sum(first)) != _sign(sum(second)),
    )


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)
