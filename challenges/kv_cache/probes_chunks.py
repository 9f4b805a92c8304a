"""Probes of a prompt that comes in chunks, against the oracle and against the same prompt in one call."""

from collections.abc import Sequence

import numpy as np

from harness.probing import Answer, Draw, ProbeFailure, expect, probe

from .binding import SLOT, Cache, Floats, Tokens, agree, exact, normal, right, stepped

CHUNK_DIFFERS = "an appended chunk differs from attention over the whole history"
CHUNKS_DIFFER = "a prompt in chunks gives another result than in one call"


@probe({"S": 3, "chunk": 1, "H": 1, "dtype": "float64"}, {"S": 11, "chunk": 4, "H": 2, "dtype": "float64"},
       {"S": 12, "chunk": 5, "H": 2, "dtype": "float32"}, {"S": 6, "chunk": 1, "H": 2, "dtype": "float64"},
       floors={"S": 3})  # fmt: skip
def chunks_equal_one_prompt(answer: Answer, draw: Draw, *, S: int, chunk: int, H: int, dtype: str) -> None:
    """K07: a prompt in chunks of any length gives the same result as in one call; every position is judged."""
    tokens = stepped(draw, H, S, dtype)
    cache = Cache(answer, tokens)
    for start in range(0, S, chunk):
        out = cache.prefill([SLOT], tokens.part(start, start + chunk))
        oracle, spread = exact(tokens.part(0, start + chunk), draw, start)
        doing = f"a chunk of {out.shape[2]} at position {start}"
        right(answer, CHUNK_DIFFERS, "out", out, oracle, spread, doing)


@probe({"S": 3, "chunk": 2, "H": 1, "D": 4, "dtype": "float64"},
       {"S": 5, "chunk": 2, "H": 2, "D": 8, "dtype": "float64"},
       {"S": 11, "chunk": 4, "H": 2, "D": 8, "dtype": "float32"}, floors={"S": 3, "D": 2})  # fmt: skip
def chunks_give_what_one_call_gives(
    answer: Answer, draw: Draw, *, S: int, chunk: int, H: int, D: int, dtype: str
) -> None:
    """K07 of the answer itself: every position of a prompt in chunks comes to what it does in one call.

    Where the positions that end a call are right, those that differ may see later tokens: that is `causality`'s.
    """
    tokens = normal(draw, 1, H, S, D, dtype)
    whole = Cache(answer, tokens).prefill([SLOT], tokens)
    expect.alive("out", whole, *tokens)
    cache, starts = Cache(answer, tokens), range(0, S, chunk)
    parts = [cache.prefill([SLOT], tokens.part(start, start + chunk)) for start in starts]
    split, spread = np.concatenate(parts, axis=2), exact(tokens, draw)[1]
    doing = f"a prompt of {S} in chunks of {chunk} against the same in one call"
    try:
        agree(answer, CHUNKS_DIFFER, "out", split, whole, spread, doing)
    except ProbeFailure as why:
        ends = [min(start + chunk, S) - 1 for start in starts]
        if _ends_right(answer, draw, tokens, [*(split[:, :, [end]] for end in ends), whole[:, :, -1:]], [*ends, S - 1]):
            why.fault_of = "causality"
        raise


@probe({"S": 3, "chunk": 2, "H": 1, "D": 4, "dtype": "float64"}, {"S": 11, "chunk": 3, "H": 2, "D": 8,
       "dtype": "float64"}, floors={"S": 2})  # fmt: skip
def chunks_are_stored_as_one_prompt(
    answer: Answer, draw: Draw, *, S: int, chunk: int, H: int, D: int, dtype: str
) -> None:
    """K07 for what follows: a decode cannot tell a prompt in chunks from the same in one call."""
    tokens = normal(draw, 1, H, S + 1, D, dtype)
    whole, split = Cache(answer, tokens), Cache(answer, tokens)
    whole.store([SLOT], tokens.part(0, S))
    for start in range(0, S, chunk):
        split.store([SLOT], tokens.part(start, min(start + chunk, S)))
    after, wanted = (cache.decode([SLOT], tokens.part(S)) for cache in (split, whole))
    title = "a decode after chunks differs from one after a single prompt"
    agree(answer, title, "out", after, wanted, exact(tokens, draw, S)[1], f"a prompt of {S} in chunks of {chunk}")


def _ends_right(answer: Answer, draw: Draw, tokens: Tokens, outs: Sequence[Floats], places: Sequence[int]) -> bool:
    """Return whether the results at the last positions of some calls are attention over all tokens up to there."""
    try:
        for out, place in zip(outs, places, strict=True):
            right(answer, "", "out", out, *exact(tokens.part(0, place + 1), draw, place))
    except ProbeFailure:
        return False
    return True
