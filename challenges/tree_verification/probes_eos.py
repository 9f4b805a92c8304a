"""Probes of the option `eos`: decoding ends with the end-of-sequence token where it is taken, and nowhere else."""

from collections.abc import Callable, Sequence
from functools import partial

from harness.probing import Answer, CallFailed, Draw, FaultElsewhere, ProbeFailure, expect, probe

from . import oracle
from .drawing import TRIES, draw_tree
from .probes_conduct import decoded, generated
from .properties import left_to_others
from .trees import SHAPES, Verification

BEHIND = "tokens are emitted behind the end of the sequence"
UP_TO = "what is emitted up to the end of the sequence is not what greedy decoding gives"
NOT_TAKEN = "an end of the sequence that greedy decoding does not take changes what is emitted"
KEPT = "an end of the sequence is kept for a later call that names none"
GENERATED_BEHIND = "tokens are generated behind the end of the sequence"
GENERATED_UP_TO = "what is generated up to the end of the sequence is not what greedy decoding gives"
PROMPT_HOLDS = {
    "earlier": ("an end of the sequence in the prompt changes what is generated", ", also a token of the prompt"),
    "last": (
        "an end of the sequence as the last token of a prompt changes what is generated",
        ", also the last token of the prompt",
    ),
}
"""Titles and words of what goes wrong only where a prompt holds EOS, by the place of EOS there."""
CALLS_BEHIND = "the model is called on after the end of the sequence"
ZERO, LARGE = {"vocab": 5, "eos": "zero"}, {"vocab": 400, "eos": "large"}
"""A token that is false, and one that a byte does not hold and that is not one object wherever it is made."""
FITS: dict[str, Callable[[int], bool]] = {
    "any": lambda _: True,
    "zero": lambda end: end == 0,
    "nonzero": lambda end: end != 0,
    "large": lambda end: end > 256,
}
MOST_ENDS = 2
"""Tokens of one tree that are tried as EOS where none of them is taken."""


@probe({"shape": "chain", "place": "root"}, {"shape": "chain", "place": "middle"}, {"shape": "chain", "place": "last"},
       {"shape": "chain", "place": "last", "draft": "half"}, {"shape": "chain", "place": "next"},
       {"shape": "empty", "place": "next"}, {"shape": "chain", "place": "next", "draft": "half"},
       {"shape": "chain", "place": "twice"}, {"shape": "chain", "place": "root", **ZERO},
       {"shape": "right after wrong siblings", "place": "middle", **ZERO},
       {"shape": "one node", "place": "next", **ZERO},
       {"shape": "right after wrong siblings", "place": "root"}, {"shape": "children far away", "place": "middle"},
       {"shape": "binary", "place": "last"}, {"shape": "comb", "place": "prompt"}, {"shape": "comb", "place": "next"},
       {"shape": "siblings at each level", "place": "wrong"},
       {"shape": "chain", "place": "middle", **LARGE}, {"shape": "one node", "place": "root", **LARGE},
       draft="right", prompt=3, vocab=11, eos="any", fixed=("vocab", "eos"))  # fmt: skip
def decoding_ends_with_its_token(
    answer: Answer, draw: Draw, *, shape: str, place: str, draft: str, prompt: int, vocab: int, eos: str
) -> None:
    """EOS as root, in the middle of a right path, as its last node, after it; nodes behind it that look right.

    It may come again later on the path, may be token 0 or a large one, and may lie in the prompt or a wrong node, too.
    """

    def end_of(tree: Verification) -> int | None:
        at = {"root": 0, "middle": 1, "last": tree.longest - 1, "next": tree.longest}.get(place)
        if at is None:  # the first token that lies elsewhere, too
            at = next((i for i in range(tree.longest) if tree.wanted[i] in _also_at(tree, place, i)), None)
        return None if at is None or tree.wanted[at] in tree.wanted[:at] else tree.wanted[at]

    tree, end = _with_end(draw, shape, draft, prompt, vocab, lambda tree: _wanted(end_of(tree), eos))
    _judge(answer, draw, tree, end, f"EOS: {place}")


@probe({"shape": "roots"}, {"shape": "right after wrong siblings"}, {"shape": "binary"}, {"shape": "children far away"},
       {"shape": "siblings at each level"}, {"shape": "children of the last"}, {"shape": "binary", "draft": "half"},
       {"shape": "right before wrong siblings"},
       {"shape": "chain", "draft": "half"}, {"shape": "chain", "place": "prompt"},
       {"shape": "empty", "place": "prompt"},
       draft="right", place="tree", prompt=3, vocab=17, fixed=("vocab",))  # fmt: skip
def a_token_that_is_not_taken_ends_nothing(
    answer: Answer, draw: Draw, *, shape: str, draft: str, place: str, prompt: int, vocab: int
) -> None:
    """EOS in wrong nodes, beside right ones, above and below them, and in the prompt, at its end first."""

    def ends_of(tree: Verification) -> list[int]:
        held = {"tree": tree.tokens, "prompt": tree.prompt[::-1]}[place]
        return [token for token in dict.fromkeys(held) if token not in tree.wanted]

    tree, _ = _with_end(draw, shape, draft, prompt, vocab, lambda tree: next(iter(ends_of(tree)), None))
    for end in ends_of(tree)[:MOST_ENDS]:
        _judge(answer, draw, tree, end, f"EOS: in the {place}")


@probe(prompt=2, vocab=5, fixed=("vocab",))
def a_call_without_an_end_ends_nowhere(answer: Answer, draw: Draw, *, prompt: int, vocab: int) -> None:
    """Token 0 is taken on the way: alone, beside another EOS that is not taken, and after a call of which it is EOS."""
    tree, end = _with_end(draw, "chain", "right", prompt, vocab, _beside_zero)
    plain = _without(answer, draw, tree)
    found = tree.ask(answer, model=tree.masked, eos_token_id=end)
    if found != plain:
        _fail(NOT_TAKEN, f"{found} where EOS is {end}, {plain} without EOS ({tree})", "emitted", plain, found)
    tree.ask(answer, model=tree.masked, eos_token_id=0)
    again = _without(answer, draw, tree)
    if again != plain:
        _fail(KEPT, f"{again} after a call with EOS 0, {plain} before it ({tree})", "emitted", plain, again)


@probe({"draft": "none", "depth": 1, "at": 0}, {"draft": "wrong", "depth": 2, "at": 2},
       {"draft": "right", "depth": 3, "at": 0}, {"draft": "right", "depth": 3, "at": 3},
       {"draft": "right", "depth": 3, "at": 5}, {"draft": "mixed", "depth": 3, "at": 1},
       {"draft": "beside", "depth": 3, "at": 2}, {"draft": "half", "depth": 4, "at": 2},
       {"draft": "right", "depth": 3, "at": 6}, {"draft": "right", "depth": 3, "at": 7},
       {"draft": "right", "depth": 2, "at": 1, **ZERO}, {"draft": "none", "depth": 1, "at": 1, **ZERO},
       {"draft": "right", "depth": 3, "at": 2, "held": "earlier"},
       {"draft": "none", "depth": 1, "at": 2, "held": "earlier"},
       {"draft": "right", "depth": 3, "at": 2, "held": "last"}, {"draft": "none", "depth": 1, "at": 2, "held": "last"},
       {"draft": "right", "depth": 3, "at": 1, **LARGE}, {"draft": "none", "depth": 1, "at": 1, **LARGE},
       tokens=7, prompt=2, vocab=11, eos="any", held="",
       fixed=("vocab", "eos", "depth", "at", "tokens"))  # fmt: skip
def generation_ends_with_its_token(
    answer: Answer, draw: Draw, *, draft: str, depth: int, at: int, tokens: int, prompt: int, vocab: int, eos: str,
    held: str,
) -> None:  # fmt: skip
    """Trees that run past EOS; EOS between two trees, the last token asked for, behind it.

    Where the prompt holds it as well, as its last token or earlier, a generation without that goes first.
    """
    if not answer.has("generate"):
        return
    for place in dict.fromkeys(("", held)):

        def end_of(start: Verification, place: str = place) -> int | None:
            *before, end = start.decoded(at + 1)
            return None if end in before or _held(end, start.prompt) != place else _wanted(end, eos)

        start, end = _with_end(draw, "empty", "right", prompt, vocab, end_of)
        with expect.only_beside(partial(generated, answer, draw, start, draft, depth, tokens)):
            _judge_generated(answer, start, end, draft, depth, tokens)


def _judge_generated(answer: Answer, start: Verification, end: int, draft: str, depth: int, tokens: int) -> None:
    """Require what is generated to end with EOS, where that is decoded, and to be greedy decoding."""
    found = decoded(answer, start, draft, depth, tokens, eos_token_id=end)
    right = oracle.ended(start.decoded(tokens), end)
    found = found if end in right else found[:tokens]
    if found != right:
        title = GENERATED_BEHIND if found[: len(right)] == right else GENERATED_UP_TO
        title, what = PROMPT_HOLDS.get(_held(end, start.prompt), (title, ""))
        seen = f"EOS {end}{what}, {tokens} tokens wanted, draft: {draft} to depth {depth}"
        _fail(title, f"{found} instead of {right} ({seen})", "generated", right, found)


def _held(end: int, prompt: Sequence[int]) -> str:
    """Return where a prompt holds EOS: as its last token, earlier, or not at all."""
    return "last" if end == prompt[-1] else "earlier" if end in prompt else ""


@probe({"draft": "none"}, {"draft": "right"}, {"draft": "none", **ZERO}, {"draft": "right", **ZERO}, prompt=2, vocab=11,
       eos="nonzero", tokens=12, fixed=("vocab", "eos", "tokens"))  # fmt: skip
def generation_calls_the_model_no_more(
    answer: Answer, draw: Draw, *, draft: str, prompt: int, vocab: int, eos: str, tokens: int
) -> None:
    """The second token ends the sequence: that takes fewer calls than decoding which goes on."""
    if not answer.has("generate"):
        return
    start, end = _with_end(draw, "empty", "right", prompt, vocab, lambda start: _wanted(_second(start.decoded(2)), eos))
    try:
        most = generated(answer, draw, start, draft, 2, tokens).calls
    except ProbeFailure as why:
        raise FaultElsewhere(why.title, why.detail, locations=why.locations) from None
    decoded(answer, start, draft, 2, tokens, eos_token_id=end)
    calls = answer.served["model"].calls
    if calls >= most:  # no wrong value, so nothing that gates
        seen = f"{calls} calls where the second token is EOS, which is {end}, and {most} for {tokens} tokens without it"
        raise CallFailed(CALLS_BEHIND, f"{seen} (draft: {draft})")


def _with_end(
    draw: Draw, shape: str, draft: str, prompt: int, vocab: int, end_of: Callable[[Verification], int | None]
) -> tuple[Verification, int]:
    """Draw a tree until one has a token that can be EOS as wanted; return both.

    Raises:
        LookupError: there is hardly such a tree.
    """
    for _ in range(TRIES):
        tree = draw_tree(draw, SHAPES[shape], prompt=prompt, vocab=vocab, draft=draft, ordered=False)
        if (end := end_of(tree)) is not None:
            return tree, end
    raise LookupError("no tree was drawn that fits")


def _wanted(end: int | None, eos: str) -> int | None:
    """Return EOS where it is a token of the kind asked for."""
    return None if end is None or not FITS[eos](end) else end


def _second(tokens: list[int]) -> int | None:
    """Return the second of two tokens, unless it is the first as well."""
    return None if tokens[0] == tokens[1] else tokens[1]


def _also_at(tree: Verification, place: str, at: int) -> list[int]:
    """Return the tokens of a place: of later right nodes, of the prompt, or of wrong nodes."""
    wrong = [token for node, token in enumerate(tree.tokens) if node not in tree.path]
    return {"twice": tree.wanted[at + 1 : -1], "prompt": list(tree.prompt), "wrong": wrong}[place]


def _beside_zero(tree: Verification) -> int | None:
    """Return a token that is nowhere, where token 0 is taken on the way."""
    held = (*tree.prompt, *tree.tokens, *tree.wanted)
    return next((token for token in range(tree.vocab) if token not in held), None) if 0 in tree.wanted[:-1] else None


def _judge(answer: Answer, draw: Draw, tree: Verification, end: int, what: str) -> None:
    """Require all to be emitted up to EOS that can be, or as much as without EOS."""
    with expect.only_beside(lambda: _without(answer, draw, tree)):
        found = tree.ask(answer, model=tree.masked, eos_token_id=end)
    if found == oracle.ended(tree.wanted, end):
        return
    plain = _without(answer, draw, tree)
    right = oracle.ended(plain, end)
    if found != right:
        title = NOT_TAKEN if end not in plain else BEHIND if found[: len(right)] == right else UP_TO
        _fail(title, f"{found} instead of {right}, and {plain} without EOS ({what}, token {end}; {tree})", "emitted",
              right, found)  # fmt: skip


def _without(answer: Answer, draw: Draw, tree: Verification) -> list[int]:
    """Return what is emitted without EOS; leave it to others where that is wrong."""
    try:
        plain = tree.ask(answer, model=tree.masked)
        wrong = tree.failure(plain)
    except CallFailed as why:
        raise FaultElsewhere(why.title, why.detail, locations=why.locations) from None
    left_to_others(answer, draw, wrong)
    return plain


def _fail(title: str, detail: str, where: str, right: list[int], found: list[int]) -> None:
    """Raise a failure with the first place at which two lists differ.

    Raises:
        ProbeFailure: always.
    """
    pairs = zip([*right, None], [*found, None], strict=False)
    at = next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(right), len(found)))
    expected, got = (str(tokens[at]) if at < len(tokens) else "nothing" for tokens in (right, found))
    raise ProbeFailure(title, detail, where=f"{where}[{at}]", expected=expected, got=got)
