"""Probes of what a search finds: sequences, their order and their scores, on models that a script gives."""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import product

from harness.probing import Answer, Axis, CallTimedOut, Draw, Drawn, expect, probe
from harness.probing.failures import OutOfMemory

from .oracle import Expected
from .plainer import (
    DRAWS,
    apart_from_plainer,
    apart_where_eos_is_certain,
    compete,
    hold,
    mix,
    penalise,
    score_eos,
    stay,
)
from .searches import EOS, EXACT, Search, drawn, redrawn, same_results

ALPHAS = (0.0, 0.6, 1.5)
SURE = {"plain": 1.0, "flat": 0.6, "sure": 2.5}
"""The spread of the model's logits."""
SIZES = {
    "width": Axis(1, 8), "steps": Axis(1, 24), "vocab": Axis(1, 64), "prompts": Axis(1, 12), "length": Axis(1, 60),
}  # fmt: skip
SETTINGS = {"alpha": (*ALPHAS, 1.0), "ends": tuple(EOS), "sure": tuple(SURE)}
SEARCHES = 39
LONG = {"width": Axis(1, 4), "steps": Axis(9, 24), "vocab": Axis(8, 64), "prompts": Axis(1, 2), "length": Axis(1, 8)}
LONG_SETTINGS = {"alpha": (*ALPHAS[1:], 1.0), "ends": ("never", "rare"), "sure": tuple(SURE)}
LONG_SEARCHES = 10
FEW_ARE_POSSIBLE = 1.4
"""Below it are all but about one number in twenty, of those by which tokens are impossible."""
CLOSE = 3e-6
"""Between two scores near -72, where single precision resolves 7.6e-6."""
CLEAR = 0.3
"""The same where nothing takes one score for the other. Single precision does not hold -72 + 0.3."""
FEW = 6
"""Models drawn before a drawn search is made shorter."""
DEPENDS = "a prompt depends on the others"
SHARED = 257
"""Integers from 0 on that are one object wherever Python makes them."""
MOST = 600.0
"""What the largest search may cost, as `_cost` counts: so much must fit into one reply."""


@probe({"width": 1, "steps": 1}, {"width": 1, "steps": 4}, {"width": 2, "steps": 3}, {"width": 3, "steps": 5},
       vocab=7, length=2, fixed=("vocab",))  # fmt: skip
def small_searches_are_right(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int, length: int) -> None:
    """One prompt, no penalty, no EOS: two models in turn, with all other arguments the same."""
    search = drawn(draw, vocab=vocab, lengths=[length], width=width, steps=steps)
    search.judge(answer)
    redrawn(draw, search, lambda other: _sequences(other) != _sequences(search)).judge(answer)


@probe(*({"width": width} for width in range(1, 9)), steps=6, vocab=18, length=3, fixed=("vocab",))
def every_width_is_right(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int, length: int) -> None:
    """K from 1 to 8, without penalty and EOS."""
    drawn(draw, vocab=vocab, lengths=[length], width=width, steps=steps).judge(answer)


@probe({"width": 4, "steps": 1}, {"width": 3, "steps": 3}, {"width": 2, "steps": 4}, vocab=9,
       fixed=("width", "steps", "vocab"))  # fmt: skip
def eos_is_scored_like_any_token(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """Whichever beams come back, without penalty."""
    score_eos(answer, draw, width=width, steps=steps, vocab=vocab)


@probe({"width": 2}, {"width": 3}, {"width": 4}, {"width": 6}, steps=6, vocab=13, fixed=("width", "steps", "vocab"))
def finished_beams_stay(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """Two that end after different numbers of tokens come back, though the search goes on after the first."""
    search = stay(draw, width=width, steps=steps, vocab=vocab)
    with apart_from_plainer(answer, draw, search, finished=False):
        search.judge(answer)


@probe({"width": 1}, {"width": 2}, {"width": 3}, {"width": 4}, steps=6, vocab=9, fixed=("width", "steps", "vocab"))
def finished_beams_compete(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """One that ended is pushed out by better ones that end later; with K = 1 none can be, and the search ends."""
    search = compete(draw, width=width, steps=steps, vocab=vocab)
    with apart_from_plainer(answer, draw, search, finished=False):
        search.judge(answer)


@probe({"width": 3}, {"width": 5}, steps=3, vocab=9, fixed=("width", "steps", "vocab"))
def finished_beams_mix_with_others(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """Beams that ended and beams that did not are ranked by their scores alone where the number of tokens ends both."""
    search = mix(draw, width=width, steps=steps, vocab=vocab)
    with apart_from_plainer(answer, draw, search, finished=False):
        search.judge(answer)


@probe({"width": 3}, {"width": 4}, steps=6, vocab=13, fixed=("width", "steps", "vocab"))
def finished_beams_hold_their_places(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """Beams that took EOS keep their places, also where it has log-probability 0, which no score can lack."""
    with apart_where_eos_is_certain(answer, draw):
        for _ in range(DRAWS):
            hold(answer, draw, width=width, steps=steps, vocab=vocab)


@probe({"alpha": 0.6, "length": 3}, {"alpha": 1.5, "length": 1}, {"alpha": 0.6, "length": 11},
       {"alpha": 1.5, "length": 6}, width=4, steps=7, vocab=9, floors={"width": 2, "steps": 2},
       fixed=("vocab",))  # fmt: skip
def beams_of_different_lengths_are_ranked(
    answer: Answer, draw: Draw, *, alpha: float, length: int, width: int, steps: int, vocab: int
) -> None:
    """By log-probability over length ** alpha, without the prompt, with EOS."""
    search = drawn(draw, vocab=vocab, lengths=[length], width=width, steps=steps, alpha=alpha, ends="even", spread=1.5,
                   wanted=lambda search: _lengths(search.expected[0]) > 1)  # fmt: skip
    with apart_from_plainer(answer, draw, search):
        search.judge(answer)


@probe({"alpha": 0.0, "length": 2}, {"alpha": 0.6, "length": 3}, {"alpha": 1.5, "length": 7}, width=3, steps=4, vocab=9,
       floors={"width": 2}, fixed=("vocab",))  # fmt: skip
def unfinished_beams_are_penalised(
    answer: Answer, draw: Draw, *, alpha: float, length: int, width: int, steps: int, vocab: int
) -> None:
    """The scores of beams of one length that never take EOS; alpha = 0 is no penalty."""
    with expect.apart_from(lambda: penalise(answer, draw, alpha=0.0, length=2, width=3, steps=3, vocab=9)):
        penalise(answer, draw, alpha=alpha, length=length, width=width, steps=steps, vocab=vocab)


@probe({"ends": "first", "width": 1, "eos": 0}, {"ends": "never", "width": 2, "eos": 3},
       {"ends": "frequent", "width": 1, "eos": 5}, {"ends": "rare", "width": 3, "eos": 0},
       {"ends": "first", "width": 3, "eos": 5}, steps=5, vocab=6, fixed=("eos", "steps", "vocab", "width"))  # fmt: skip
def eos_may_be_any_token(
    answer: Answer, draw: Draw, *, ends: str, width: int, eos: int, steps: int, vocab: int
) -> None:
    """The first and the last of the vocabulary, likely or not, likeliest at once; inside a prompt it ends nothing."""
    search = drawn(draw, vocab=vocab, lengths=[3], width=width, steps=steps, ends=ends, eos=eos)
    with apart_from_plainer(answer, draw, search):
        search.judge(answer)
    for prompt, what in (((1, eos, 2), "EOS in the prompt"), ((1, 2, eos), "EOS last in the prompt")):
        other = redrawn(draw, replace(search, prompts=(prompt,)))
        with apart_from_plainer(answer, draw, other):
            other.judge(answer, what)


@probe({"alpha": 0.0, "ends": "frequent"}, {"alpha": 0.6, "ends": "frequent"}, {"alpha": 1.5, "ends": "never"},
       width=3, steps=5, vocab=8, fixed=("alpha", "vocab", "width", "steps"))  # fmt: skip
def prompts_do_not_see_each_other(
    answer: Answer, draw: Draw, *, alpha: float, ends: str, width: int, steps: int, vocab: int
) -> None:
    """Each gives among others of other lengths what it gives alone, whichever ends first; one of them comes twice."""
    search = drawn(
        draw, vocab=vocab, lengths=(1, 5, 2), width=width, steps=steps, alpha=alpha, ends=ends,
        wanted=lambda search: ends == "never" or search.expected[0].steps < search.expected[2].steps,
    )  # fmt: skip
    alone = [search.ask(answer, items=[item])[0] for item in range(len(search.prompts))]
    for items in ((0, 1, 2), (2, 0, 2)):
        with expect.works("prompts are not served together"):
            together = search.ask(answer, items=items)
        same_results(together, [alone[item] for item in items], DEPENDS, f"{search}")


@probe({"width": 1, "steps": 2, "alpha": 0.0, "ends": "never"}, {"width": 2, "steps": 3, "alpha": 0.6, "ends": "even"},
       {"width": 3, "steps": 4, "alpha": 1.5, "ends": "frequent"}, vocab=8, length=2, floors={"vocab": 2})  # fmt: skip
def prompts_that_continue_others_do_not_see_them(
    answer: Answer, draw: Draw, *, width: int, steps: int, alpha: float, ends: str, vocab: int, length: int
) -> None:
    """A prompt, the same with the first token of its best beam, and with all of it: each beside each, in both orders.

    One best beam has taken EOS, which means nothing inside a prompt.
    """
    search = _continued(drawn(
        draw, vocab=vocab, lengths=[length], width=width, steps=steps, alpha=alpha, ends=ends,
        wanted=lambda one: one.expected[0].finished[0] == (ends == "frequent") and _continued(one).apart(),
    ))  # fmt: skip
    alone = [search.ask(answer, items=[item])[0] for item in range(len(search.prompts))]
    for items in product(range(len(search.prompts)), repeat=2):
        with expect.works("prompts are not served together"):
            together = search.ask(answer, items=items)
        given = f"prompts {[list(search.prompts[item]) for item in items]}, {search.settings}"
        same_results(together, [alone[item] for item in items], DEPENDS, given)


def _continued(search: Search) -> Search:
    """Return the same search from a prompt, from it with the first token of its best beam, and with all of it."""
    prompt, (best, _) = search.prompts[0], search.expected[0].beams[0]
    return replace(search, prompts=(prompt, (*prompt, best[0]), (*prompt, *best)))


@probe({"vocab": 1, "width": 1, "steps": 2}, {"vocab": 2, "width": 2, "steps": 3}, {"vocab": 2, "width": 5, "steps": 2},
       {"vocab": 3, "width": 8, "steps": 3}, {"vocab": 1, "width": 3, "steps": 3}, {"vocab": 5, "width": 4, "steps": 1},
       fixed=("vocab", "width", "steps"))  # fmt: skip
def small_vocabularies_are_served(answer: Answer, draw: Draw, *, vocab: int, width: int, steps: int) -> None:
    """Fewer tokens than beams: at first there are fewer beams than K, and at the end as many as exist."""
    for ends in ("never", "even"):
        search = drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps, ends=ends)
        with apart_from_plainer(answer, draw, search):
            search.judge(answer)


@probe({"vocab": 6, "width": 2, "ends": "never"}, {"vocab": 4, "width": 8, "ends": "even"},
       {"vocab": 2, "width": 5, "ends": "even"}, {"vocab": 60, "width": 4, "ends": "never", "barred": FEW_ARE_POSSIBLE},
       steps=3, barred=0.0, fixed=("vocab", "width", "steps", "barred"))  # fmt: skip
def impossible_tokens_are_never_taken(
    answer: Answer, draw: Draw, *, vocab: int, width: int, ends: str, steps: int, barred: float
) -> None:
    """About half of the tokens have log-probability -inf after each sequence, or all but a few of many.

    Some searches find fewer than K beams. One prompt and no penalty, which are judged elsewhere.
    """
    for length in (2, 1):
        plain = drawn(draw, vocab=vocab, lengths=[length], width=width, steps=steps, ends=ends)
        search = redrawn(draw, replace(plain, barred=barred))
        served = expect.works("log-probabilities of -inf are not served")
        with apart_from_plainer(answer, draw, search), expect.only_beside(partial(plain.judge, answer)), served:
            search.judge(answer, "some tokens are impossible")


@probe({"spread": 40.0}, {"spread": 1000.0}, width=4, vocab=9, fixed=("spread", "width", "vocab"))
def tiny_probabilities_are_served(answer: Answer, draw: Draw, *, spread: float, width: int, vocab: int) -> None:
    """The fourth likeliest token has a log-probability below -23 and -745, where log(1e-10) and float64 end.

    EOS is not among the 2 K likeliest tokens, so that its score does not matter.
    """
    plain = drawn(draw, vocab=vocab, lengths=[2], width=width, steps=1)
    far = redrawn(draw, replace(plain, spread=spread), lambda search: _worst(search) < -0.75 * spread)
    with apart_from_plainer(answer, draw, far), expect.only_beside(lambda: plain.judge(answer)):
        far.judge(answer, f"the worst right result has log-probability {_worst(far):.4g}")


def _worst(search: Search) -> float:
    return min(float(score) for _, score in search.expected[0].beams)


def _cost(width: int, steps: int, vocab: int, prompts: int, length: int) -> float:
    return prompts * width * (steps + 3.0)


@probe({"width": 9, "steps": 3, "vocab": 5, "prompts": 1, "length": 2, "alpha": 0.6, "ends": "even"},
       {"width": 70, "steps": 1, "vocab": 90, "prompts": 1, "length": 2, "alpha": 0.0, "ends": "never"},
       {"width": 2, "steps": 2, "vocab": 18_001, "prompts": 1, "length": 3, "alpha": 0.6, "ends": "first"},
       {"width": 2, "steps": 2, "vocab": 20, "prompts": 9, "length": 60, "alpha": 0.6, "ends": "even"},
       {"width": 8, "steps": 3, "vocab": 60, "prompts": 1, "length": 3, "alpha": 0.0, "ends": "rare", "sure": "sure"},
       sure="plain", drawn=Drawn(SIZES, SEARCHES, _cost, MOST, SETTINGS))  # fmt: skip
def any_search_is_right(
    answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int, prompts: int, length: int, alpha: float,
    ends: str, sure: str,
) -> None:  # fmt: skip
    """Any number of prompts of any lengths, any settings; the longest prompt has `length` tokens.

    What always comes: more beams than tokens, more than 64, a vocabulary past a byte, in which a beam takes an EOS that
    is not one object wherever it is made, many prompts, unlikely tokens.
    """
    search = _searched(draw, width, steps, vocab, prompts, length, alpha, ends, SURE[sure])
    with apart_from_plainer(answer, draw, search, alpha):
        search.judge(answer)


@probe(drawn=Drawn(LONG, LONG_SEARCHES, _cost, MOST, LONG_SETTINGS))
def any_long_search_is_right(
    answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int, prompts: int, length: int, alpha: float,
    ends: str, sure: str,
) -> None:  # fmt: skip
    """Beams that go on to the end under a penalty: among searches drawn at large few generate many tokens."""
    search = _searched(draw, width, steps, vocab, prompts, length, alpha, ends, SURE[sure])
    with apart_from_plainer(answer, draw, search, alpha):
        search.judge(answer)


@probe({"width": 2}, {"width": 3}, steps=2, vocab=9, length=2, fixed=("width", "steps", "vocab"))
def close_scores_are_ranked(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int, length: int) -> None:
    """Two scores differ by less than single precision resolves so far from 0; either is the larger in turn.

    Scores that lack the digits themselves are judged elsewhere.
    """

    def clear(search: Search) -> None:
        for one in (replace(search, nearest=nearest) for nearest in (CLEAR, -CLEAR)):
            one.compare(one.ask(answer), within=EXACT, title="digits of a score are lost")

    for sign in (1, -1):
        given = drawn(draw, vocab=vocab, lengths=[length], width=width, steps=steps)
        search = redrawn(draw, replace(given, nearest=sign * CLOSE))
        ranked = expect.renamed("the smaller of two close scores is ranked before the larger")
        with apart_from_plainer(answer, draw, search), expect.only_beside(partial(clear, search)), ranked:
            search.judge(answer, f"two scores of a pool are {CLOSE:g} apart")


@probe(width=1, steps=1010, vocab=3, length=2, fixed=("width", "vocab", "length"))
def a_very_long_search_is_served(
    answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int, length: int
) -> None:
    """More tokens than Python lets a function call itself; no speed is asked for."""
    search = drawn(draw, vocab=vocab, lengths=[length], width=width, steps=steps)
    with suppress(CallTimedOut, OutOfMemory), apart_from_plainer(answer, draw, search):
        search.judge(answer)


def _searched(
    draw: Draw, width: int, steps: int, vocab: int, prompts: int, length: int, alpha: float, ends: str, spread: float
) -> Search:
    """A search of these settings; a shorter one where long beams under a strong penalty score alike."""
    lengths = [draw.integer(1, length) for _ in range(prompts - 1)]
    lengths.insert(draw.integer(0, len(lengths)), length)
    given = Search(
        0, vocab, tuple(tuple(draw.integer(0, vocab - 1) for _ in range(n)) for n in lengths), width, steps, alpha,
        draw.integer(SHARED if vocab > SHARED else 0, vocab - 1), ends, spread,
    )  # fmt: skip
    while True:
        try:
            return redrawn(draw, given, tries=FEW)
        except LookupError:
            given = replace(given, steps=max(1, given.steps * 2 // 3))


def _sequences(search: Search) -> list[tuple[int, ...]]:
    return [tokens for one in search.expected for tokens, _ in one.beams]


def _lengths(one: Expected) -> int:
    """How many different lengths come back."""
    return len({len(tokens) for tokens, _ in one.beams})
