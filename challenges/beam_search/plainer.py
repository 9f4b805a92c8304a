"""Faults in the plainest searches that show them, so that no criterion is charged with what another one judges."""

import itertools
import math
from contextlib import AbstractContextManager

from harness.probing import Answer, Draw, FaultElsewhere, ProbeFailure, expect

from .searches import NEAR, Results, Search, drawn

DRAWS = 4
"""Searches that are drawn for each plainer check: not every one shows the fault."""
EOS_SCORE = "a beam that took EOS has another score than its tokens"


def apart_from_plainer(
    answer: Answer, draw: Draw, alpha: float = 0.0, *, finished: bool = True
) -> AbstractContextManager[None]:
    """Charge what a comparison in the block finds to a fault that a plainer search shows by itself.

    Args:
        answer: whose search it is.
        draw: source of the plainer ones.
        alpha: of the search in the block, where another criterion judges what it does to scores.
        finished: whether another one judges what becomes of finished beams.
    """
    checks = [
        lambda: penalise(answer, draw, alpha=0.0, length=2, width=3, steps=3, vocab=9),
        lambda: score_eos(answer, draw, width=3, steps=1, vocab=7),
    ]
    if finished:
        checks.append(lambda: stay(answer, draw, width=3, steps=6, vocab=13))
        checks.append(lambda: compete(answer, draw, width=3, steps=6, vocab=9))
        checks.append(lambda: mix(answer, draw, width=3, steps=3, vocab=9))
    if alpha:
        checks.append(lambda: penalise(answer, draw, alpha=alpha, length=3, width=3, steps=4, vocab=9))
    return expect.apart_from(*(check for check in checks for _ in range(DRAWS)))


def penalise(answer: Answer, draw: Draw, *, alpha: float, length: int, width: int, steps: int, vocab: int) -> None:
    """Require the right search where all beams have one length and none takes EOS."""
    drawn(draw, vocab=vocab, lengths=[length], width=width, steps=steps, alpha=alpha).judge(answer)


def stay(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """Require that two beams come back that end after different numbers of tokens, one of them before the last."""
    drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps, ends="frequent later",
          wanted=_ends_apart).judge(answer)  # fmt: skip


def compete(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """Require that better beams push out one that ended; with K = 1 none can, and the search ends."""
    drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps, ends="even later", spread=2.5,
          wanted=lambda search: search.expected[0].displaced or width == 1).judge(answer)  # fmt: skip


def mix(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """Require finished and unfinished beams to come back ranked by score, in a search where the two alternate."""
    drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps, ends="even", wanted=_alternate).judge(answer)


def _alternate(search: Search) -> bool:
    """Return whether a finished beam comes back between two unfinished ones, or an unfinished between finished ones."""
    return sum(one != after for one, after in itertools.pairwise(search.expected[0].finished)) > 1


def _ends_apart(search: Search) -> bool:
    """Return whether two finished beams of different lengths come back, one of them kept through a later step."""
    one = search.expected[0]
    lengths = {len(tokens) for (tokens, _), done in zip(one.beams, one.finished, strict=True) if done}
    return one.outlived and len(lengths) > 1


def score_eos(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """Require that beams which took EOS have the sums of their log-probabilities, whichever beams come back.

    Raises:
        ProbeFailure: one has another score, and without EOS all have theirs.
        FaultElsewhere: none comes back, or scores are wrong without EOS as well.
    """
    search = drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps, ends="frequent",
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
