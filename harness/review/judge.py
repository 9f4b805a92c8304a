"""A model judges what cannot be executed: asked several times, in both orders, and held to its quotes."""

import datetime
import secrets
import statistics
from collections.abc import Callable, Iterable, Sequence

from harness.errors import JudgeError, NotFoundError
from harness.model import Mark, Preference, Quote, Reviewer, ReviewerKind, identifier
from harness.review.judge_prompt import Prompt, Questions
from harness.review.judge_reply import JudgedMark, MarksReply, PairReply, Refused, Reply, parse
from harness.review.material import Material

TRIES = 3
"""Requests for one usable reply."""

Ask = Callable[[Prompt], str]


Notify = Callable[[str], None]
Lost = str
"""Why a repeat could not be used."""


def reviewer(model: str, questions: Questions, date: datetime.date) -> Reviewer:
    """A model as a reviewer; its id is its name with other signs than an id may hold as '-'.

    Raises:
        NotFoundError: the name holds nothing an id could.
    """
    id = identifier(model)
    if not id:
        raise NotFoundError(f"no id can be made of the model name {model[:80]!r}\n  it needs a letter or a digit")
    return Reviewer(kind=ReviewerKind.MODEL, id=id, date=date, prompt_hash=questions.hash)


def mark(
    ask: Ask, questions: Questions, material: Material, repeats: int, notify: Notify
) -> tuple[tuple[Mark, ...], tuple[Lost, ...]]:
    """Marks for one answer: of every question the median, all repeats, and the words of the repeat nearest the median.

    Args:
        ask: sends one prompt.
        questions: what to ask.
        material: the answer.
        repeats: how often.
        notify: is called after each repeat with a line on it.

    Raises:
        JudgeError: no repeat can be used.
    """

    def asked(nonce: str, refused: str) -> Prompt:
        return questions.to_mark(material, nonce, refused)

    def read(text: str) -> MarksReply:
        reply = parse(text, MarksReply, questions.ids)
        for answer in reply.answers:
            _quotes(material, answer)
        return reply

    replies, lost = _repeated(ask, asked, read, repeats, notify)
    return tuple(_mark(id, _answers(id, replies), material) for id in questions.ids), lost


def compare(
    ask: Ask, questions: Questions, pair: tuple[Material, Material], other: str, repeats: int, notify: Notify
) -> tuple[tuple[Preference, ...], tuple[Lost, ...]]:
    """Which of two answers is better on every question, asked `repeats` times with either in the first place.

    Args:
        ask: sends one prompt.
        questions: what to ask.
        pair: the answer that wins and losses are counted for, and the other.
        other: the model that gave the other.
        repeats: how often, in either order.
        notify: is called after each repeat with a line on it.

    Raises:
        JudgeError: in one of the orders no repeat can be used.
    """
    answer, rival = pair

    def read(text: str) -> PairReply:
        return parse(text, PairReply, questions.ids)

    def asked(nonce: str, refused: str) -> Prompt:
        return questions.to_compare(answer, rival, nonce, refused)

    def asked_the_other_way(nonce: str, refused: str) -> Prompt:
        return questions.to_compare(rival, answer, nonce, refused)

    first, lost = _repeated(ask, asked, read, repeats, notify)
    second, lost_too = _repeated(ask, asked_the_other_way, read, repeats, notify)
    found = (
        _preference(id, other, _verdicts(id, first, "first"), _verdicts(id, second, "second")) for id in questions.ids
    )
    return tuple(found), (*lost, *lost_too)


def _repeated(
    ask: Ask, asked: Callable[[str, str], Prompt], read: Callable[[str], Reply], repeats: int, notify: Notify
) -> tuple[list[Reply], tuple[Lost, ...]]:
    """The usable replies, at least one, and why each of the others is lost."""
    replies: list[Reply] = []
    lost: list[str] = []
    for number in range(1, repeats + 1):
        try:
            replies.append(_usable(ask, asked, read))
            notify(f"reply {number} of {repeats}")
        except Refused as error:
            lost.append(str(error))
            notify(f"reply {number} of {repeats} is lost: {error}")
        except JudgeError as error:
            if not replies:
                raise
            lost.append(str(error).splitlines()[0])
            notify(f"no more replies: {lost[-1]}")
            break  # what was paid for is kept
    if not replies:
        raise JudgeError(
            f"none of {repeats} replies could be used, each asked for {TRIES} times; the last: {lost[-1]}\n"
            "  nothing was written; another --model may do better"
        )
    return replies, tuple(lost)


def _usable(ask: Ask, asked: Callable[[str, str], Prompt], read: Callable[[str], Reply]) -> Reply:
    refused = ""
    for _ in range(TRIES):
        # drawn for every request: nothing in the answer, and nothing a judge repeats, can hold it
        try:
            return read(ask(asked(secrets.token_hex(16), refused)))
        except Refused as error:
            refused = str(error)
    raise Refused(refused)


def _quotes(material: Material, answer: JudgedMark) -> tuple[Quote, ...]:
    """The quotes as they stand in the files.

    Raises:
        Refused: one is not there.
    """
    found = []
    for words in answer.quotes:
        quote = material.quote(words.file, words.text)
        if quote is None:
            raise Refused(f"question {answer.question!r}: {words.file[:80]!r} does not say {words.text[:120]!r}")
        found.append(quote)
    return tuple(found)


def _answers(id: str, replies: Iterable[MarksReply]) -> list[JudgedMark]:
    return [answer for reply in replies for answer in reply.answers if answer.question == id]


def _mark(id: str, answers: Sequence[JudgedMark], material: Material) -> Mark:
    middle = statistics.median(answer.mark for answer in answers)
    nearest = min(answers, key=lambda answer: abs(answer.mark - middle))
    return Mark(
        target=id,
        mark=middle,
        remark=nearest.remark,
        quotes=_quotes(material, nearest),
        repeats=tuple(answer.mark for answer in answers),
    )


def _verdicts(id: str, replies: Iterable[PairReply], shown_as: str) -> list[int]:
    """One for every reply: 1 where the answer is better, -1 where the other is, 0 where neither."""
    found = [answer.better for reply in replies for answer in reply.answers if answer.question == id]
    return [0 if better == "equal" else 1 if better == shown_as else -1 for better in found]


def _preference(id: str, other: str, first: Sequence[int], second: Sequence[int]) -> Preference:
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
