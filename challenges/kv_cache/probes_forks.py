"""Probes of what source and copy of a fork share: each holds its own tokens, whatever becomes of the other.

They are asked in pages too where these are offered, and charged where two slots filled apart do not fail alike.
"""

import itertools
from collections.abc import Mapping, Sequence
from functools import partial

from harness.probing import Answer, ArgumentsRejected, Draw, expect, probe

from .binding import SLOT, Cache, Floats, Tokens, claimed, normal, require_offered, right_or_like
from .probes_options import page_size

Options = Mapping[str, int]


@probe({"S": 2, "chunk": 0, "H": 1, "D": 4, "dtype": "float64"}, {"S": 7, "chunk": 0, "H": 2, "D": 4,
       "dtype": "float32"}, {"S": 5, "chunk": 3, "H": 1, "D": 4, "dtype": "float64"})  # fmt: skip
def a_fork_is_a_copy_of_its_own(
    answer: Answer, draw: Draw, *, S: int, chunk: int, H: int, D: int, dtype: str
) -> None:
    """K14: source and copy, forked in the middle of a page, go on as two slots filled alike would, in every layer: by
    decodes alone, or behind a chunk of a prompt for both."""
    require_offered(answer, "fork")
    old = normal(draw, 1, H, 1, D, dtype)
    for options in _storages(answer, old):
        full = S % options.get("page_size", S + 1) == 0
        tokens = normal(draw, 3, H, S + full, D, dtype), old, normal(draw, 2, H, chunk + 3, D, dtype)
        judge = partial(_go_on_apart, answer, draw, tokens, chunk, options)
        with expect.only_beside(partial(judge, forked=False)):
            judge(forked=True)


@probe({"H": 1, "D": 4, "dtype": "float64"}, {"H": 2, "D": 4, "dtype": "float32"})
def a_release_spares_a_fork(answer: Answer, draw: Draw, *, H: int, D: int, dtype: str) -> None:
    """K14, K15: source and copy each hold their tokens after the other was released and a third slot was filled."""
    require_offered(answer, "fork")
    storages = _storages(answer, normal(draw, 1, H, 1, D, dtype))
    S = 2 * max(options.get("page_size", 1) for options in storages) + 1
    for options in storages:
        for released in (SLOT, 1):
            tokens = tuple(normal(draw, 1, H, n, D, dtype) for n in (S, S, 1))
            judge = partial(_beside_released, answer, draw, tokens, released, options)
            with expect.only_beside(partial(judge, forked=False)):
                judge(forked=True)


def _storages(answer: Answer, like: Tokens) -> Sequence[Options]:
    """The options by which an answer stores tokens: none, and pages where it claims and takes them."""
    if not claimed(answer, "paged"):
        return ({},)
    pages = {"page_size": page_size(answer)}
    try:
        Cache(answer, like, **pages)
    except ArgumentsRejected:  # another criterion's matter
        return ({},)
    return {}, pages


def _go_on_apart(
    answer: Answer, draw: Draw, tokens: tuple[Tokens, ...], chunk: int, options: Options, *, forked: bool
) -> None:
    """Require two slots that hold the same tokens, forked or not, to go on apart in every layer."""
    common, old, ways = tokens
    cache = Cache(answer, common, layers=3, room=common.length + ways.length, **options)
    for layer in range(3):
        cache.store([SLOT], common.rows(layer), layer=layer)
        cache.store([1], old if forked else common.rows(layer), layer=layer)
    if forked:
        cache.fork(SLOT, 1)
    behind = (f", behind a chunk of {chunk} token{'s' * (chunk > 1)} for both" if chunk else "") + _name_pages(options)
    for layer in (2, 1, 0):
        for way, slot in enumerate((SLOT, 1)) if chunk else ():
            cache.store([slot], ways.rows(way).part(0, chunk), layer=layer)
        steps = range(chunk, ways.length - (layer < 2))
        for at, (way, slot) in itertools.product(steps, enumerate((SLOT, 1))):
            own = ways.rows(way).part(0, at + 1)
            out, seen = cache.decode([slot], own.part(at), layer=layer), common.rows(layer).then(own)
            prompts = (common.rows(layer), own.part(0, chunk))[: 1 + bool(chunk)]
            doing = f"layer {layer}, decode {at - chunk + 1} of the {'copy' if way else 'source'}{behind}"
            without = partial(_alone, answer, prompts, own.part(chunk))
            right_or_like(answer, "a fork is not a copy of its own", out, seen, draw, without, doing)


def _beside_released(
    answer: Answer, draw: Draw, tokens: tuple[Tokens, ...], released: int, options: Options, *, forked: bool
) -> None:
    """Require one of two slots that hold the same tokens, a fork or not, to hold them after the other's release."""
    common, other, last = tokens
    cache = Cache(answer, common, room=common.length + 1, **options)
    cache.store([SLOT], common)
    if forked:
        cache.fork(SLOT, 1)
    else:
        cache.store([1], common)
    cache.release(released)
    cache.store([0], other)
    kept, what = (1, "the source") if released == SLOT else (SLOT, "the copy")
    out, without = cache.decode([kept], last), partial(_alone, answer, (common,), last)
    doing = f"{what} released and another slot filled{_name_pages(options)}"
    right_or_like(answer, "a release takes tokens of a fork", out, common.then(last), draw, without, doing)


def _alone(answer: Answer, prompts: Sequence[Tokens], steps: Tokens) -> Floats:
    """Return the last of some decodes behind prompts, in a plain cache of its own."""
    cache = Cache(answer, steps, room=steps.length + sum(prompt.length for prompt in prompts))
    for prompt in prompts:
        cache.store([SLOT], prompt)
    outs: list[Floats] = [cache.decode([SLOT], steps.part(at, at + 1)) for at in range(steps.length)]
    return outs[-1]


def _name_pages(options: Options) -> str:
    """Return the page size as the end of a sentence; nothing where no pages are asked for."""
    return "".join(f", pages of {page}" for page in options.values())
