"""Faults in the plainest searches that show them, so that no criterion is charged with what another one judges."""

import itertools
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from harness.probing import Answer, CallFailed, Draw, FaultElsewhere, ProbeFailure, expect

from .searches import NEAR, Results, Search, drawn

DRAWS = 4
"""Searches that are drawn for each plainer check: not every one shows the fault."""
WIDEST = 3
"""Beams of which more than K end without a long search for such a model."""
EOS_SCORE = "a beam that took EOS has another score than its tokens"
CERTAIN_EOS = "the results are wrong where a beam takes an EOS of probability 1"


def apart_from_plainer(
    answer: Answer, draw: Draw, search: Search, alpha: float = 0.0, *, finished: bool = True
) -> AbstractContextManager[None]:
    """Charge what a comparison in the block finds to a fault that a plainer search shows by itself.

    A fault about EOS is such a one only where a beam takes EOS: in the right search, or in the answer's by the step
    that goes wrong.

    Args:
        answer: whose search it is.
        draw: source of the plainer ones.
        search: the one in the block.
        alpha: of the search in the block, where another criterion judges what it does to scores.
        finished: whether another one judges what becomes of finished beams.
    """
    about_eos: list[Callable[[], object]] = [lambda: score_eos(answer, draw, width=3, steps=1, vocab=7)]
    if finished:
        about_eos.append(lambda: stay(draw, width=3, steps=6, vocab=13).judge(answer))
        about_eos.append(lambda: compete(draw, width=3, steps=6, vocab=9).judge(answer))
        about_eos.append(lambda: mix(draw, width=3, steps=3, vocab=9).judge(answer))
    checks: list[Callable[[], object]] = [_plain(answer, draw)]
    checks.extend(partial(_judge_if_eos_is_taken, answer, search, check) for check in about_eos)
    if alpha:
        checks.append(lambda: penalise(answer, draw, alpha=alpha, length=3, width=3, steps=4, vocab=9))
    return expect.apart_from(*(check for check in checks for _ in range(DRAWS)))


def apart_where_eos_is_certain(
    answer: Answer, draw: Draw, *further: Callable[[], object]
) -> AbstractContextManager[None]:
    """Charge what a comparison in the block finds to a fault that shows by itself where EOS has log-probability 0.

    Of EOS's score only what is wrong there too is such a fault: to leave out its log-probability changes nothing.
    """
    checks = (_plain(answer, draw), *further,
              lambda: score_eos(answer, draw, width=3, steps=2, vocab=7, ends="certain later"))  # fmt: skip
    return expect.apart_from(*(check for check in checks for _ in range(DRAWS)))


def _plain(answer: Answer, draw: Draw) -> Callable[[], None]:
    """Return the check that a search without penalty and EOS is right."""
    return partial(penalise, answer, draw, alpha=0.0, length=2, width=3, steps=3, vocab=9)


def _judge_if_eos_is_taken(answer: Answer, search: Search, check: Callable[[], object]) -> None:
    """Pass on the failure of a check if a beam takes EOS in the search."""
    try:
        check()
    except (CallFailed, FaultElsewhere):
        raise
    except ProbeFailure:
        if _takes_eos(answer, search):
            raise


def _takes_eos(answer: Answer, search: Search) -> bool:
    """Return whether a beam takes EOS in the right search, or in the answer's up to a step that goes wrong."""
    if any(one.displaced or any(one.finished) for one in search.expected):
        return True
    right, wrong = 0, search.steps
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if _is_right(answer, replace(search, steps=middle)):
            right = middle
        else:
            wrong = middle
    found = replace(search, steps=wrong).ask(answer)
    return any(search.eos in tokens for beams in found for tokens, _ in beams)


def _is_right(answer: Answer, search: Search) -> bool:
    found = search.ask(answer)
    try:
        search.compare(found)
    except ProbeFailure:
        return False
    return True


def penalise(answer: Answer, draw: Draw, *, alpha: float, length: int, width: int, steps: int, vocab: int) -> None:
    """Require the right search where all beams have one length and none takes EOS."""
    drawn(draw, vocab=vocab, lengths=[length], width=width, steps=steps, alpha=alpha).judge(answer)


def stay(draw: Draw, *, width: int, steps: int, vocab: int) -> Search:
    """Return a search with two results that end after different numbers of tokens, one of them before the last."""
    return drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps, ends="frequent later", wanted=_ends_apart)


def compete(draw: Draw, *, width: int, steps: int, vocab: int) -> Search:
    """Return a search in which better beams push out one that ended, up to `WIDEST` after K have ended.

    With K = 1 none is pushed out, and the search ends.
    """

    def wanted(search: Search) -> bool:
        one = search.expected[0]
        return width == 1 or (one.early if width <= WIDEST else one.displaced)

    return drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps, ends="even later", spread=4.0, wanted=wanted)


def mix(draw: Draw, *, width: int, steps: int, vocab: int) -> Search:
    """Return a search whose results, ranked by score, alternate between finished and unfinished beams."""
    return drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps, ends="even", wanted=_alternate)


def hold(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """Require a beam that took an EOS of probability 1 to keep one of the K places, beside beams that go on to the end.

    EOS is not 0, which `eos` judges.
    """
    search = drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps, ends="certain later",
                   eos=draw.integer(1, vocab - 1), wanted=_goes_on)  # fmt: skip
    with expect.renamed(CERTAIN_EOS):
        search.judge(answer)


def _goes_on(search: Search) -> bool:
    """Return whether a finished beam is kept through a later step, and an unfinished one comes back."""
    return search.expected[0].outlived and not all(search.expected[0].finished)


def _alternate(search: Search) -> bool:
    """Return whether a finished beam comes back between two unfinished ones, or an unfinished between finished ones."""
    return sum(one != after for one, after in itertools.pairwise(search.expected[0].finished)) > 1


def _ends_apart(search: Search) -> bool:
    """Return whether two finished beams of different lengths come back, one of them kept through a later step."""
    one = search.expected[0]
    lengths = {len(tokens) for (tokens, _), done in zip(one.beams, one.finished, strict=True) if done}
    return one.outlived and len(lengths) > 1


def score_eos(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int, ends: str = "frequent") -> None:
    """Require that beams which took EOS have the sums of their log-probabilities, whichever beams come back.

    Raises:
        ProbeFailure: one has another score, and without EOS all have theirs.
        FaultElsewhere: none comes back, or scores are wrong without EOS as well.
    """
    search = drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps, ends=ends,
                   wanted=lambda search: any(search.expected[0].finished))  # fmt: skip
    found = search.ask(answer)
    if not any(tokens[-1:] == [search.eos] for tokens, _ in found[0]):
        raise FaultElsewhere("another sequence is found", f"none that takes EOS ({search})")
    if (failure := _misscored(search, found, EOS_SCORE)) is None:
        return
    plain = drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps)
    if (without := _misscored(plain, plain.ask(answer), "a score is wrong")) is not None:
        raise FaultElsewhere(without.title, without.detail)
    raise failure


def _misscored(search: Search, found: Results, title: str) -> ProbeFailure | None:
    """Return the first beam, of those that take EOS where it is taken, whose score is not its tokens' sum."""
    for n, (tokens, got) in enumerate(found[0]):
        if (search.ends != "never" and tokens[-1:] != [search.eos]) or not set(tokens) <= set(range(search.vocab)):
            continue
        right = search.logprob(0, tokens)
        if not math.isclose(got, right, rel_tol=NEAR, abs_tol=NEAR):
            detail = f"the score of {tokens} is {got:.9g} instead of {right:.9g} ({search})"
            return ProbeFailure(title, detail, where=f"results[0][{n}][1]", expected=right, got=got)
    return None
