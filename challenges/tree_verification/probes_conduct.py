"""Probes of how an answer deals with what it is given, and of decoding with a draft."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from harness.probing import (
    Answer,
    CallFailed,
    Draw,
    FaultElsewhere,
    InputUse,
    NotOffered,
    Partial,
    ProbeFailure,
    Tree,
    expect,
    laws,
    probe,
)

from .drawing import NEXT_TOKENS, draw_tree
from .properties import apart_from_other_faults
from .scripted import ORDERS, drafting
from .trees import RESULT, SHAPES, Verification, misshapen, served

MANY_CALLS = "the model is called more than once for a verification"
LOOPED = "decoded by the harness's own loop around `verify_and_accept`; `generate` is not offered"
STATED = {"depth": 4, "tokens": 12}
"""What the tokens for each call are those of, where an answer states them."""


@probe({"shape": "chain"}, {"shape": "binary"}, {"shape": "siblings at each level"}, prompt=3, vocab=13,
       fixed=("vocab",))  # fmt: skip
def a_verification_takes_one_call(answer: Answer, draw: Draw, *, shape: str, prompt: int, vocab: int) -> dict[str, int]:
    """One pass over prompt and tree, however much of it is right, and whatever comes of it."""
    return {"model_calls": _takes_one_call(answer, draw, shape, prompt, vocab)}


def _takes_one_call(answer: Answer, draw: Draw, shape: str, prompt: int, vocab: int) -> int:
    """Require that verifications of a right and of a wrong tree call the model once each; return the most calls."""
    calls = 0
    for draft in ("right", "wrong"):
        tree = draw_tree(draw, SHAPES[shape], prompt=prompt, vocab=vocab, draft=draft, ordered=False)
        failed: CallFailed | None = None
        try:
            tree.ask(answer)
        except CallFailed as failure:
            failed = failure
        used = answer.served.get("model")
        calls = max(calls, used.calls if used else 0)
        expect.that(calls <= 1, MANY_CALLS, f"{calls} calls ({tree})", model_calls=calls)
        if failed is not None:
            raise failed
    return calls


@probe({"draft": "right", "depth": 3}, {"draft": "wrong", "depth": 2}, {"draft": "mixed", "depth": 3},
       {"draft": "beside", "depth": 3}, {"draft": "half", "depth": 4},
       *({"draft": order, "depth": 4, "tokens": 6, "next_token": token} for order in ORDERS
         for token in NEXT_TOKENS[1:]),
       prompt=2, vocab=11, tokens=7, next_token="any", fixed=("vocab",))  # fmt: skip
def generation_is_greedy_decoding(
    answer: Answer, draw: Draw, *, draft: str, depth: int, prompt: int, vocab: int, tokens: int, next_token: str
) -> Partial:
    """Whatever the draft says: always right, never right, half right, wrong siblings before right nodes and behind.

    Branches come in any order, deeper than there are tokens left to decode, and deeper than the right path. The model
    may take the lowest or the highest token after the first of these paths. Drafts of different
    kinds continue different models.
    """
    draw = Draw(draw.integer(0, 2**62), draft)
    start = draw_tree(draw, (), prompt=prompt, vocab=vocab, draft="right", ordered=True)
    if next_token != "any":
        start = start.renumbered(start.decoded(depth)[-1], next_token)
    return Partial(1.0, {}, generated(answer, draw, start, draft, depth, tokens).note)


@probe(prompt=2, vocab=11, tokens=3, fixed=("vocab",))
def generation_needs_no_draft(answer: Answer, draw: Draw, *, prompt: int, vocab: int, tokens: int) -> None:
    """The draft has nothing to say; what goes wrong where it says what is right is judged elsewhere."""
    start = draw_tree(draw, (), prompt=prompt, vocab=vocab, draft="right", ordered=True)
    try:
        generated(answer, draw, start, "none", 1, tokens)
    except ProbeFailure as failure:
        try:
            generated(answer, draw, start, "right", 1, tokens)
        except ProbeFailure as plain:
            raise FaultElsewhere(plain.title, plain.detail, locations=plain.locations) from None
        raise failure from None


@probe({"depth": 1, "tokens": 4}, STATED, prompt=2, vocab=11, fixed=("vocab", "depth", "tokens"))
def the_draft_is_used(
    answer: Answer, draw: Draw, *, depth: int, tokens: int, prompt: int, vocab: int
) -> Partial:
    """With a right chain of depth d, n tokens take at most n / d calls of the model."""
    start = draw_tree(draw, (), prompt=prompt, vocab=vocab, draft="right", ordered=True)
    try:
        calls, rounds, note = generated(answer, draw, start, "right", depth, tokens)
    except CallFailed:
        raise
    except ProbeFailure as failure:
        raise FaultElsewhere(failure.title, failure.detail) from None
    figures = {"tokens_per_call": tokens / max(calls, 1)} if {"depth": depth, "tokens": tokens} == STATED else {}
    most = -(-tokens // depth)
    seen = f"{calls} calls for {tokens} tokens with right chains of {depth}, at most {most} are needed"
    seen = f"{seen}, and the draft is asked {rounds} times"
    with expect.apart_from(lambda: _takes_one_call(answer, draw, "chain", prompt, vocab)):
        title = "the model is called more often than right chains need"
        expect.that(calls <= most, title, seen, generation_calls=calls, **figures)
    return Partial(1.0, figures, note)


class Decoding(NamedTuple):
    """Calls of the model and of the draft in one decoding, and a note if the harness made its loop."""

    calls: int
    rounds: int
    note: str = ""


def generated(answer: Answer, draw: Draw, start: Verification, draft: str, depth: int, tokens: int) -> Decoding:
    """Decode with a draft and compare with greedy decoding.

    Where the answer has no `generate`, the harness loops over its `verify_and_accept`. Where one of its verifications
    is wrong on the way, what comes of that is no fault of its `generate`.
    """
    script = _script(start, draft, depth)
    try:
        if not answer.has("generate"):
            raise NotOffered("`generate` is not offered")
        found = decoded(answer, start, draft, depth, tokens)
    except NotOffered:
        return _looped(answer, draw, start, script, tokens)._replace(note=LOOPED)
    except CallFailed as failure:
        failure.detail = f"{failure.detail} ({tokens} tokens wanted, {_proposed(start, draft, depth)})"
        raise
    calls = Decoding(answer.served["model"].calls, answer.served["draft"].calls)
    right = start.decoded(tokens)
    if len(found) < tokens:
        raise ProbeFailure("too few tokens are generated", f"{len(found)} instead of {tokens}", where="generated",
                           expected=tokens, got=len(found))  # fmt: skip
    try:
        _compare(found, right, _proposed(start, draft, depth))
    except ProbeFailure as failure:
        try:
            _looped(answer, draw, start, script, tokens)
        except CallFailed:
            raise failure from None
        raise
    return calls


def _script(start: Verification, draft: str, depth: int) -> tuple[Any, ...]:
    """Return the arguments of a draft that continues what a model takes."""
    return start.seed, start.vocab, start.ordered, start.shift, draft, depth


def _proposed(start: Verification, draft: str, depth: int) -> str:
    """Say what a draft is like, and what it proposes after the prompt."""
    nodes, parents = drafting(*_script(start, draft, depth))([*start.prompt])
    return f"draft: {draft} to depth {depth}, after the prompt tokens {nodes}, parents {parents}"


def decoded(answer: Answer, start: Verification, draft: str, depth: int, tokens: int, **options: int) -> list[int]:
    """Return what is generated with a draft.

    Raises:
        CallFailed: it does not have the form of the contract.
    """
    proposing = served("draft", "drafting", _script(start, draft, depth))
    given = (start.model, proposing, list(start.prompt), tokens)
    found = answer.call("generate", *given, returns=RESULT, **options)
    if not isinstance(found, (list, tuple)) or any(type(token) is not int for token in found):
        raise misshapen("the result", found, "a list of ints")
    return list(found)


def _looped(answer: Answer, draw: Draw, start: Verification, script: tuple[Any, ...], tokens: int) -> Decoding:
    draft, found, calls, rounds = drafting(*script), list[int](), 0, 0
    while len(found) < tokens:
        nodes, parents = draft([*start.prompt, *found])
        context = (*start.prompt, *found)
        step = replace(start, prompt=context, tokens=tuple(nodes), parents=tuple(parents))
        emitted = step.ask(answer)
        calls += answer.served["model"].calls
        rounds += 1
        try:
            step.compare(emitted)
        except CallFailed:
            raise
        except ProbeFailure as failure:
            with apart_from_other_faults(answer, draw, step):
                raise FaultElsewhere(failure.title, failure.detail) from None
        found += emitted
    return Decoding(calls, rounds)


def _compare(found: list[int], right: list[int], what: str) -> None:
    for place, (got, expected) in enumerate(zip(found, right, strict=False)):
        if got != expected:
            raise ProbeFailure("what is generated is not what greedy decoding gives",
                               f"token {place} is {got} instead of {expected} ({what})", where=f"generated[{place}]",
                               expected=expected, got=got)  # fmt: skip


@probe(prompt=3, vocab=13)
def logits_are_only_read(answer: Answer, draw: Draw, *, prompt: int, vocab: int) -> None:
    """The model's arrays cannot be written to."""
    tree = draw_tree(draw, SHAPES["comb"], prompt=prompt, vocab=vocab, draft="right", ordered=False)
    laws.inputs_may_be_read_only(partial(tree.ask, answer))


@probe(prompt=3, vocab=13)
def arguments_stay_as_they_were(answer: Answer, draw: Draw, *, prompt: int, vocab: int) -> None:
    """The lists that were passed, however much of a tree is right, and where its first right node ends the sequence.

    Equal calls of each function get equal replies.
    The call between differs in all that it is given, and in no size. Each function begins in a new process, where no
    earlier call can have left the same in place of both.
    """
    tree, other = (
        draw_tree(draw, SHAPES[shape], prompt=prompt, vocab=vocab, draft="right", ordered=False)
        for shape in ("comb", "right after wrong siblings")
    )
    for one in (tree, *_right_in_part(draw, prompt, vocab)):
        given = {"prompt": [*one.prompt], "tree_tokens": [*one.tokens], "parents": [*one.parents]}
        laws.lists_stay(answer, given, lambda kept, one=one: one.ask(answer, list(kept.values())))
        if answer.capabilities.get("eos"):
            end = {"eos_token_id": one.wanted[0]}
            with suppress(CallFailed):  # judged by `eos`
                laws.lists_stay(answer, given, lambda kept, one=one, end=end: one.ask(answer, [*kept.values()], **end))
    if answer.has("build_tree_mask"):
        ask = partial(answer.call, "build_tree_mask", len(tree.prompt), returns=Tree(4096))
        laws.lists_stay(answer, {"parents": [*tree.parents]}, lambda kept: ask(kept["parents"]))
    if answer.has("generate"):
        models = tree.model, served("draft", "drafting", _script(tree, "right", 3))
        ask = partial(answer.call, "generate", *models, returns=RESULT)
        laws.lists_stay(answer, {"prompt": [*tree.prompt]}, lambda kept: ask(kept["prompt"], 7))
    for function, (call, between) in _calls_of_equal_sizes(answer, tree, other).items():
        if answer.has(function):
            answer.fresh()
            laws.equal_calls_get_equal_replies(answer, call, between)


def _right_in_part(draw: Draw, prompt: int, vocab: int) -> Iterator[Verification]:
    """Draw a chain and a tree with branches of which all, a half, and nothing is right."""
    for shape in ("chain", "right after wrong siblings"):
        for draft in ("right", "half", "wrong"):
            yield draw_tree(draw, SHAPES[shape], prompt=prompt, vocab=vocab, draft=draft, ordered=False)


def _calls_of_equal_sizes(
    answer: Answer, tree: Verification, other: Verification
) -> dict[str, tuple[laws.ArrayCall, laws.ArrayCall]]:
    """Return a call of each function, and one with another tree or draft of as many nodes."""

    def masked(one: Verification, *, inputs: InputUse = InputUse.FRESH) -> laws.Reply:
        return {"the mask": answer.call("build_tree_mask", len(one.prompt), list(one.parents), returns=Tree(4096))}

    def generated(one: Verification, draft: str, depth: int, *, inputs: InputUse = InputUse.FRESH) -> laws.Reply:
        return decoded(answer, one, draft, depth, 7)

    return {
        "build_tree_mask": (partial(masked, tree), partial(masked, other)),
        "verify_and_accept": (partial(tree.ask, answer), partial(other.ask, answer)),
        "generate": (partial(generated, tree, "right", 3), partial(generated, other, "mixed", 1)),
    }


@probe(prompt=2, vocab=9, fixed=("vocab", "prompt"))
def wrong_arguments_are_refused(answer: Answer, draw: Draw, *, prompt: int, vocab: int) -> Partial:
    """Parents that do not come first, lists of different lengths, an empty prompt raise ValueError, each by itself."""
    tree = draw_tree(draw, SHAPES["chain"], prompt=prompt, vocab=vocab, draft="right", ordered=False)
    tree.ask(answer)
    attempts: dict[str, Callable[[], Any]] = {}
    for what, changes in (
        ("lists of different lengths, 5 tokens and 4 parents", {"parents": (-1, 0, 1, 2)}),
        ("an empty prompt", {"prompt": ()}),
        ("a tree in which node 0 has the parent -2", {"parents": (-2, 0, 1, 2, 3)}),
        ("a tree in which node 1 has a later parent", {"parents": (-1, 3, 1, 2, 3)}),
        ("a tree in which node 1 is its own parent", {"parents": (-1, 1, 1, 2, 3)}),  # some never end here
    ):
        wrong = replace(tree, **changes)
        attempts[what] = partial(wrong.ask, answer)
        if len(wrong.parents) == len(wrong.tokens):
            mask = partial(answer.call, "build_tree_mask", len(wrong.prompt), list(wrong.parents), returns=Tree(4096))
            attempts[f"{what} in build_tree_mask"] = mask
    return laws.each_refused(attempts)
