"""Probes of how an answer deals with what it is given: the model, its arrays, the prompts, and wrong arguments."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from harness.probing import Answer, Draw, FaultElsewhere, Partial, ProbeFailure, expect, laws, probe

from .plainer import apart_where_eos_is_certain, hold
from .searches import EXACT, RESULT, Search, drawn, redrawn


@probe({"width": 1, "steps": 3}, {"width": 4, "steps": 6}, vocab=12, fixed=("width", "steps"))
def the_model_is_asked_once_a_beam(
    answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int
) -> dict[str, float]:
    """At most K + 1 times a step and prompt, in a search that takes all its steps."""
    search = drawn(draw, vocab=vocab, lengths=[2, 5], width=width, steps=steps)
    search.ask(answer)
    calls, most = answer.served["model"].calls, (width + 1) * steps * len(search.prompts)
    figures = {"model_calls": calls, "calls_per_beam": calls / sum(one.calls for one in search.expected)}
    expect.that(calls <= most, "the model is called more often than the contract allows",
                f"{calls} calls in {search}, at most {most} are allowed", **figures)  # fmt: skip
    return figures


@probe({"width": 1, "ends": "frequent"}, {"width": 4, "ends": "even"}, steps=6, vocab=8, fixed=("width", "steps"),
       floors={"vocab": 2})  # fmt: skip
def finished_beams_cost_no_call(answer: Answer, draw: Draw, *, width: int, ends: str, steps: int, vocab: int) -> None:
    """A model that refuses to continue what has taken EOS is as good as one that does.

    Of a vocabulary of 1 every prompt holds EOS, which must be continued.
    """
    search = drawn(draw, vocab=vocab, lengths=[1, 4, 3], width=width, steps=steps, alpha=0.6, ends=ends,
                   wanted=lambda search: any(one.outlived or width == 1 for one in search.expected))  # fmt: skip
    search.ask(answer)
    with expect.works("the model is called for a beam that has ended"):
        search.ask(answer, model=search.unended)


@probe({"width": 2}, {"width": 3}, steps=6, vocab=8, fixed=("width", "steps"))
def an_ended_search_costs_no_call(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """Searches whose results have all ended before the last step make the same calls with twice the steps.

    Whatever its results, an answer knows when they have ended, unless it gives the places of finished beams to others.
    """
    given = drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps, alpha=0.6, ends="frequent", wanted=_ended)
    with apart_where_eos_is_certain(answer, draw, lambda: hold(answer, draw, width=3, steps=8, vocab=13)):
        _judge_calls_after_the_end(answer, [given, *(redrawn(draw, given, _ended) for _ in range(5))])


def _judge_calls_after_the_end(answer: Answer, searches: Sequence[Search]) -> None:
    """Require the calls of searches that have ended not to depend on how many steps are left."""
    others = list[Search]()
    for search in searches:
        found, calls = _counted(answer, search)
        again, more = _counted(answer, replace(search, steps=2 * search.steps))
        if found != again or any(tokens[-1:] != [search.eos] for tokens, _ in found[0]):
            others.append(search)
            continue
        seen = f"the same results, {calls} calls within {search.steps} steps, {more} within twice as many: {search}"
        title = "the model is called after all results of a search have ended"
        expect.that(more == calls, title, seen, model_calls=more)
    if others:
        raise FaultElsewhere("a search that has ended finds more with more steps", f"{others[0]}")


def _ended(search: Search) -> bool:
    (expected,) = search.expected
    return all(expected.finished) and expected.steps < search.steps


def _counted(answer: Answer, search: Search) -> tuple[Any, int]:
    """Return what a search finds, and how many calls of the model it makes."""
    return search.ask(answer), answer.served["model"].calls


@probe(width=3, steps=4, vocab=9)
def log_probabilities_are_only_read(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """The model's arrays cannot be written to."""
    search = drawn(draw, vocab=vocab, lengths=[2, 3], width=width, steps=steps, alpha=0.6, ends="even")
    laws.inputs_may_be_read_only(partial(search.ask, answer))


@probe(width=3, steps=4, vocab=9)
def prompts_stay_as_they_were(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """The lists that were passed, the outer one too; equal calls get equal replies, other models' between them."""
    search = drawn(draw, vocab=vocab, lengths=[2, 1, 4], width=width, steps=steps, alpha=0.6, ends="even")
    given = {"prompts": [list(prompt) for prompt in search.prompts]}
    laws.equal_calls_get_equal_replies(answer, partial(search.ask, answer), partial(redrawn(draw, search).ask, answer))
    laws.lists_stay(answer, given, lambda kept: search.ask(answer, kept["prompts"]))


@probe(width=4, steps=20, vocab=10)
def scores_keep_double_precision(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> dict[str, float]:
    """Twenty terms that no float32 could hold add up to what they add up to, without penalty and EOS."""
    search = drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps)
    found = search.ask(answer)
    try:
        search.compare(found)
    except ProbeFailure as failure:  # more than digits
        raise FaultElsewhere(failure.title, failure.detail) from None
    return {"score_error": search.compare(found, within=EXACT, title="digits of a score are lost")}


@probe(width=2, steps=2, vocab=5, fixed=("width", "steps", "vocab"))
def wrong_arguments_are_refused(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> Partial:
    """Sizes below 1, an empty prompt, an EOS that is no token raise ValueError; the plain call is served."""
    search = drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps, alpha=0.6)
    search.ask(answer)
    wrong: dict[str, dict[str, Any]] = {
        "beam_width = 0": {"width": 0},
        "max_new_tokens = 0": {"steps": 0},
        "an empty prompt": {"prompts": ((1, 2), ())},
        "an eos_token_id beyond the vocabulary": {"eos": vocab},
        "a negative eos_token_id": {"eos": -1},
    }
    return laws.each_refused({what: partial(_asked, answer, search, changes) for what, changes in wrong.items()})


@probe(width=2, steps=2, vocab=5, fixed=("width", "steps", "vocab"))
def no_prompts_give_no_results(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """An empty list of prompts is served with an empty list."""
    drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps, alpha=0.6).ask(answer, items=[])


def _asked(answer: Answer, search: Search, changes: dict[str, Any]) -> None:
    """A call with other arguments than the model's script has."""
    given = replace(search, **changes)
    prompts = [list(prompt) for prompt in given.prompts]
    settings = (given.width, given.steps, given.alpha, given.eos)
    answer.call("batched_beam_search", search.model, prompts, *settings, returns=RESULT)
