"""Probes of how an answer deals with what it is given, and of decoding with a draft."""

from dataclasses import replace
from typing import Any

from harness.probing import Answer, Draw, InputUse, Keep, NotOffered, ProbeFailure, RemoteObject, Tree, expect, probe

from .scripted import drafting
from .trees import RESULT, SHAPES, Verification, drawn, misshapen, served

KEEPER = """
def keep(values):
    return values
"""


@probe({"shape": "empty"}, {"shape": "chain"}, {"shape": "binary"}, prompt=3, vocab=13, fixed=("vocab",))
def a_verification_takes_one_call(answer: Answer, draw: Draw, *, shape: str, prompt: int, vocab: int) -> dict[str, int]:
    """One pass over prompt and tree, however much of it is right."""
    calls = 0
    for draft in ("right", "wrong"):
        tree = drawn(draw, SHAPES[shape], prompt=prompt, vocab=vocab, draft=draft, ordered=False)
        tree.judge(answer, draft)
        calls = max(calls, answer.served["model"].calls)
        expect.that(calls <= 1, "the model is called more than once for a verification", f"{calls} calls ({tree})",
                    model_calls=calls)  # fmt: skip
    return {"model_calls": calls}


@probe({"draft": "right", "depth": 3}, {"draft": "wrong", "depth": 2}, {"draft": "mixed", "depth": 3},
       {"draft": "half", "depth": 4}, {"draft": "none", "depth": 1}, prompt=2, vocab=11, tokens=7,
       fixed=("vocab",))  # fmt: skip
def generation_is_greedy_decoding(
    answer: Answer, draw: Draw, *, draft: str, depth: int, prompt: int, vocab: int, tokens: int
) -> None:
    """Whatever the draft says: always right, never right, half right, or nothing at all."""
    start = drawn(draw, (), prompt=prompt, vocab=vocab, draft="right", ordered=True)
    generated(answer, start, draft, depth, tokens)


@probe({"depth": 1, "tokens": 4}, {"depth": 4, "tokens": 12}, prompt=2, vocab=11, fixed=("vocab", "depth", "tokens"))
def the_draft_is_used(
    answer: Answer, draw: Draw, *, depth: int, tokens: int, prompt: int, vocab: int
) -> dict[str, float]:
    """With a right chain of depth d, n tokens take at most n / d calls of the model."""
    start = drawn(draw, (), prompt=prompt, vocab=vocab, draft="right", ordered=True)
    calls, most = generated(answer, start, "right", depth, tokens), -(-tokens // depth)
    expect.that(calls <= most, "the model is called more often than right chains need",
                f"{calls} calls for {tokens} tokens with right chains of {depth}, at most {most} are needed",
                generation_calls=calls)  # fmt: skip
    return {"tokens_per_call": tokens / max(calls, 1)}


def generated(answer: Answer, start: Verification, draft: str, depth: int, tokens: int) -> int:
    """Decode with a draft and compare with greedy decoding; the calls of the model.

    Where the answer has no `generate`, the harness loops over its `verify_and_accept`.
    """
    script = (start.seed, start.vocab, start.ordered)
    proposing = served("draft", "drafting", (*script, draft, depth))
    try:
        if not answer.has("generate"):
            raise NotOffered("`generate` is not offered")
        found = answer.call("generate", start.model, proposing, list(start.prompt), tokens, returns=RESULT)
    except NotOffered:
        return _looped(answer, start, proposing.arguments, tokens)
    if not isinstance(found, (list, tuple)) or any(type(token) is not int for token in found):
        raise misshapen("the result", found, "a list of ints")
    right = start.decoded(tokens)
    if len(found) < tokens:
        raise ProbeFailure("too few tokens are generated", f"{len(found)} instead of {tokens}", where="generated",
                           expected=tokens, got=len(found))  # fmt: skip
    _compare(found, right, f"draft: {draft} to depth {depth}")
    return answer.served["model"].calls


def _looped(answer: Answer, start: Verification, script: tuple[Any, ...], tokens: int) -> int:
    draft, found, calls = drafting(*script), list[int](), 0
    while len(found) < tokens:
        nodes, parents = draft([*start.prompt, *found])
        context = (*start.prompt, *found)
        step = replace(start, prompt=context, tokens=tuple(nodes), parents=tuple(parents)).judge(answer)
        found += step
        calls += answer.served["model"].calls
    return calls


def _compare(found: list[int], right: list[int], what: str) -> None:
    for place, (got, expected) in enumerate(zip(found, right, strict=False)):
        if got != expected:
            raise ProbeFailure("what is generated is not what greedy decoding gives",
                               f"token {place} is {got} instead of {expected} ({what})", where=f"generated[{place}]",
                               expected=expected, got=got)  # fmt: skip


@probe(prompt=3, vocab=13)
def logits_are_only_read(answer: Answer, draw: Draw, *, prompt: int, vocab: int) -> None:
    """The model's arrays cannot be written to."""
    tree = drawn(draw, SHAPES["comb"], prompt=prompt, vocab=vocab, draft="right", ordered=False)
    tree.compare(tree.ask(answer, inputs=InputUse.READ_ONLY), "the model's arrays are read-only")


@probe(prompt=3, vocab=13)
def arguments_stay_as_they_were(answer: Answer, draw: Draw, *, prompt: int, vocab: int) -> None:
    """The lists that were passed; and the same call on them again returns the same."""
    tree = drawn(draw, SHAPES["comb"], prompt=prompt, vocab=vocab, draft="right", ordered=False)
    lists = [list(tree.prompt), list(tree.tokens), list(tree.parents)]
    answer.load("keeper", KEEPER)
    kept: list[RemoteObject] = [answer.call("keep", one, module="keeper", returns=Keep()) for one in lists]
    first = tree.ask(answer, kept)
    tree.compare(first)
    for name, one, before in zip(("prompt", "tree_tokens", "parents"), kept, lists, strict=True):
        now = answer.fetch(one, Tree(0))
        expect.that(now == before, "an argument is changed", f"{name} is {now!r:.100} instead of {before!r:.100}")
    again = tree.ask(answer, kept)
    expect.that(again == first, "identical calls get different replies", f"{again!r:.200} after {first!r:.200}")


@probe(prompt=2, vocab=9, fixed=("vocab", "prompt"))
def wrong_arguments_are_refused(answer: Answer, draw: Draw, *, prompt: int, vocab: int) -> None:
    """Parents that do not come first, lists of different lengths, an empty prompt raise ValueError."""
    tree = drawn(draw, SHAPES["chain"], prompt=prompt, vocab=vocab, draft="right", ordered=False)
    tree.judge(answer)
    for what, changes in (
        ("a node that is its own parent", {"parents": (-1, 1, 1, 2, 3)}),
        ("a parent that comes later", {"parents": (-1, 3, 1, 2, 3)}),
        ("a parent of -2", {"parents": (-2, 0, 1, 2, 3)}),
        ("a parent too few", {"parents": (-1, 0, 1, 2)}),
        ("an empty prompt", {"prompt": ()}),
    ):
        wrong = replace(tree, **changes)
        expect.refused(lambda wrong=wrong: wrong.ask(answer), what)
        if what != "a parent too few":
            length, parents = len(wrong.prompt), list(wrong.parents)
            attempt = lambda n=length, p=parents: answer.call("build_tree_mask", n, p, returns=Tree(4096))  # noqa: E731
            expect.refused(attempt, f"{what} in build_tree_mask")
