"""Probes of how an answer deals with what it is given: the model, its arrays, the prompts, and wrong arguments."""

from dataclasses import replace
from typing import Any

from harness.probing import Answer, Draw, InputUse, Keep, Tree, expect, probe

from .searches import EXACT, RESULT, Search, drawn, formed

KEEPER = """
def keep(prompts):
    return prompts
"""


@probe({"width": 1, "steps": 3}, {"width": 4, "steps": 6}, vocab=12, fixed=("width", "steps"))
def the_model_is_asked_once_a_beam(
    answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int
) -> dict[str, float]:
    """At most K + 1 times a step and prompt, in a search that takes all its steps."""
    search = drawn(draw, vocab=vocab, lengths=[2, 5], width=width, steps=steps, ends="never")
    search.judge(answer)
    calls, most = answer.served["model"].calls, (width + 1) * steps * len(search.prompts)
    expect.that(calls <= most, "the model is called more often than the contract allows",
                f"{calls} calls in {search}, at most {most} are allowed", model_calls=calls)  # fmt: skip
    return {"model_calls": calls, "calls_per_beam": calls / sum(one.calls for one in search.expected)}


@probe({"width": 1, "ends": "frequent"}, {"width": 4, "ends": "even"}, steps=6, vocab=8, fixed=("width", "steps"))
def finished_beams_cost_no_call(
    answer: Answer, draw: Draw, *, width: int, ends: str, steps: int, vocab: int
) -> dict[str, float]:
    """As many calls as there were beams to continue, and none for what has ended."""
    search = drawn(draw, vocab=vocab, lengths=[1, 4, 3], width=width, steps=steps, alpha=0.6, ends=ends,
                   wanted=lambda search: any(one.steps < steps for one in search.expected))  # fmt: skip
    search.judge(answer)
    calls, needed = answer.served["model"].calls, sum(one.calls for one in search.expected)
    expect.that(calls <= needed, "the model is called for more than the beams to be continued",
                f"{calls} calls in {search}, where {needed} beams were to be continued",
                extra_calls=calls - needed)  # fmt: skip
    return {"extra_calls": max(calls - needed, 0)}


@probe(width=3, steps=4, vocab=9)
def log_probabilities_are_only_read(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """The model's arrays cannot be written to."""
    search = drawn(draw, vocab=vocab, lengths=[2, 3], width=width, steps=steps, alpha=0.6, ends="even")
    search.compare(search.ask(answer, inputs=InputUse.READ_ONLY), "the model's arrays are read-only")


@probe(width=3, steps=4, vocab=9)
def prompts_stay_as_they_were(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """The lists that were passed, the outer one too; and the same call on them again returns the same."""
    search = drawn(draw, vocab=vocab, lengths=[2, 1, 4], width=width, steps=steps, alpha=0.6, ends="even")
    wanted = [list(prompt) for prompt in search.prompts]
    answer.load("keeper", KEEPER)
    kept = answer.call("keep", wanted, module="keeper", returns=Keep())
    first = search.ask(answer, kept)
    search.compare(first)
    now = answer.fetch(kept, Tree(0))
    expect.that(now == wanted, "the prompts are changed", f"{now!r:.200} instead of {wanted!r:.200}")
    again = search.ask(answer, kept)
    expect.that(again == first, "identical calls get different replies", f"{again!r:.200} after {first!r:.200}")


@probe(width=4, steps=20, vocab=10)
def scores_keep_double_precision(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> dict[str, float]:
    """Twenty terms that no float32 could hold add up to what they add up to."""
    worst = 0.0
    for alpha in (0.0, 1.5):
        search = drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps, alpha=alpha, ends="rare")
        found = search.ask(answer)
        search.compare(found)
        worst = max(worst, search.compare(found, "digits are lost", EXACT))
    return {"score_error": worst}


@probe(width=2, steps=2, vocab=5, fixed=("width", "steps", "vocab"))
def wrong_arguments_are_refused(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """Sizes below 1, an empty prompt, an EOS that is no token raise ValueError; the plain call is served."""
    search = drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps)
    search.judge(answer)
    for what, changes in (
        ("beam_width = 0", {"width": 0}),
        ("max_new_tokens = 0", {"steps": 0}),
        ("an empty prompt", {"prompts": ((1, 2), ())}),
        ("an eos_token_id beyond the vocabulary", {"eos": vocab}),
        ("a negative eos_token_id", {"eos": -1}),
    ):
        expect.refused(lambda changes=changes: _asked(answer, search, changes), what)


@probe(width=2, steps=2, vocab=5, fixed=("width", "steps", "vocab"))
def no_prompts_give_no_results(answer: Answer, draw: Draw, *, width: int, steps: int, vocab: int) -> None:
    """An empty list of prompts is served with an empty list; a prompt in it with a result."""
    search = drawn(draw, vocab=vocab, lengths=[2], width=width, steps=steps)
    search.judge(answer)
    settings = (search.width, search.steps, search.alpha, search.eos)
    formed(answer.call("batched_beam_search", search.model, [], *settings, returns=RESULT), 0)


def _asked(answer: Answer, search: Search, changes: dict[str, Any]) -> None:
    """A call with other arguments than the model's script has."""
    given = replace(search, **changes)
    prompts = [list(prompt) for prompt in given.prompts]
    settings = (given.width, given.steps, given.alpha, given.eos)
    answer.call("batched_beam_search", search.model, prompts, *settings, returns=RESULT)
