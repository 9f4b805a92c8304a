"""Probes of what source and copy of a fork share: each holds its own tokens, whatever becomes of the other.

They are asked in pages too where these are offered, and charged where two slots filled apart do not fail alike.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from harness.probing import Answer, Draw, expect, probe

from .binding import SLOT, Cache, Floats, Tokens, claimed, normal, require_offered, right_or_like
from .probes_options import page_size

Options = Mapping[str, int]


@probe({"S": 5, "chunk": 3, "H": 1, "D": 4, "dtype": "float64"}, {"S": 9, "chunk": 6, "H": 2, "D": 4,
       "dtype": "float32"}, floors={"S": 2, "chunk": 2})  # fmt: skip
def a_fork_takes_prompts_of_its_own(
    answer: Answer, draw: Draw, *, S: int, chunk: int, H: int, D: int, dtype: str
) -> None:
    """K14: source and copy, forked in the middle of a page, each hold their tokens after a prompt's chunk for both."""
    require_offered(answer, "fork")
    for options in _storages(answer):
        full = S % options.get("page_size", S + 1) == 0
        common, ways = normal(draw, 1, H, S + full, D, dtype), normal(draw, 2, H, chunk + 1, D, dtype)
        judge = partial(_beside_fed, answer, draw, common, ways, options)
        with expect.only_beside(partial(judge, forked=False)):
            judge(forked=True)


@probe({"H": 1, "D": 4, "dtype": "float64"}, {"H": 2, "D": 4, "dtype": "float32"})
def a_release_spares_a_fork(answer: Answer, draw: Draw, *, H: int, D: int, dtype: str) -> None:
    """K14, K15: source and copy each hold their tokens after the other was released and a third slot was filled."""
    require_offered(answer, "fork")
    storages = _storages(answer)
    S = 2 * max(options.get("page_size", 1) for options in storages) + 1
    for options in storages:
        for released in (SLOT, 1):
            tokens = tuple(normal(draw, 1, H, n, D, dtype) for n in (S, S, 1))
            judge = partial(_beside_released, answer, draw, tokens, released, options)
            with expect.only_beside(partial(judge, forked=False)):
                judge(forked=True)


def _storages(answer: Answer) -> Sequence[Options]:
    """The options by which an answer stores tokens: none, and pages where it offers them."""
    return ({}, {"page_size": page_size(answer)}) if claimed(answer, "paged") else ({},)


def _beside_fed(
    answer: Answer, draw: Draw, common: Tokens, ways: Tokens, options: Options, *, forked: bool
) -> None:
    """Require two slots that hold the same tokens, forked or not, to go on apart: a chunk for each, then a decode."""
    cache, last = _held_twice(answer, common, common.length + ways.length, options, forked), ways.length - 1
    for way, slot in enumerate((1, SLOT)):
        cache.store([slot], ways.rows(way).part(0, last))
    for way, slot in enumerate((1, SLOT)):
        chunk, token = ways.rows(way).part(0, last), ways.rows(way).part(last)
        out, without = cache.decode([slot], token), partial(_alone, answer, (common, chunk), token)
        doing = f"a chunk of {last} tokens for the copy and one for the source{_said(options)}, then a decode of the "
        doing += "source" if slot == SLOT else "copy"
        seen = common.then(chunk).then(token)
        right_or_like(answer, "a fork is not a copy of its own", out, seen, draw, without, doing)


def _beside_released(
    answer: Answer, draw: Draw, tokens: tuple[Tokens, ...], released: int, options: Options, *, forked: bool
) -> None:
    """Require one of two slots that hold the same tokens, a fork or not, to hold them after the other's release."""
    common, other, last = tokens
    cache = _held_twice(answer, common, common.length + 1, options, forked)
    cache.release(released)
    cache.store([0], other)
    kept, what = (1, "the source") if released == SLOT else (SLOT, "the copy")
    out, without = cache.decode([kept], last), partial(_alone, answer, (common,), last)
    doing = f"{what} released and another slot filled{_said(options)}"
    right_or_like(answer, "a release takes tokens of a fork", out, common.then(last), draw, without, doing)


def _held_twice(answer: Answer, common: Tokens, room: int, options: Options, forked: bool) -> Cache:
    """A cache whose slots `SLOT` and 1 hold the same tokens, as a fork or each filled with them."""
    cache = Cache(answer, common, room=room, **options)
    cache.store([SLOT], common)
    if forked:
        cache.fork(SLOT, 1)
    else:
        cache.store([1], common)
    return cache


def _alone(answer: Answer, prompts: Sequence[Tokens], last: Tokens) -> Floats:
    """What a decode behind some prompts comes to in a plain cache of its own."""
    cache = Cache(answer, last, room=sum(prompt.length for prompt in prompts) + 1)
    for prompt in prompts:
        cache.store([SLOT], prompt)
    out: Floats = cache.decode([SLOT], last)
    return out


def _said(options: Options) -> str:
    return "".join(f", pages of {page}" for page in options.values())
