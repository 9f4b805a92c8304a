"""The tokens of programs: drawn row by row, so that they stay as they are when other rows are left out."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from harness.probing import Draw
from harness.probing.families import FAMILIES, values

from .binding import SHARPNESS, Floats
from .calls import Create, Feed, Row

NEEDLES, CODES, ALIKE, STEEP, CODED = "single keys", "few keys", "equal keys", "x30", "needles"
EVEN = "even weights"
"""Queries of zeros: whatever codes do to the keys, all tokens weigh the same."""
CODED_SCALES = {"normal": 1.0, "tiny": 1e-9, "huge": 1e9, "mixed magnitudes": 1.0}
"""Root mean square of the keys of needles, and of their values but for mixed ones, in a program of each family."""
SPAN_OF_MIXED = 1e-4
"""The smallest of mixed values over the largest, each of a token of its own."""
MAGNITUDES = ("tiny", "huge", "mixed magnitudes")
"""Families of which little shows behind tokens of another one."""
FAMILIES_OF_TOKENS = (*FAMILIES, NEEDLES, CODES, ALIKE, STEEP, *MAGNITUDES)
"""Families of values that the contract names, the plainest first."""
TELLING = (NEEDLES, CODES, ALIKE)
"""Families in which one token more or less shows at any length."""
CODEBOOK = 6
"""Different keys of a cache whose tokens have few."""
LARGE = 1e4


FAR = 1 << 64
"""How far apart in one stream the numbers of two rows are drawn."""


def rows_of_tokens(
    seed: int, create: Create, feed: Feed, pasts: Sequence[Floats]
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Yield q (H, n, D), k and v (Hkv, n, D) of each row, in the cache's dtype.

    Args:
        seed: of the program.
        create: how the cache was made.
        feed: the call.
        pasts: keys that the slots of its rows hold, (Hkv, m, D).
    """
    draw = Draw(seed, f"{feed.number}")
    stream = draw.rng.bit_generator
    assert isinstance(stream, np.random.PCG64)
    begin = stream.state
    for row, past in zip(feed.rows, pasts, strict=True):
        stream.state = begin  # a jump takes a sixth of the time of a stream of its own
        stream.advance(row.number * FAR)
        yield _row_of_tokens(draw, seed, create, feed, row, past)


def _row_of_tokens(
    draw: Draw, seed: int, create: Create, feed: Feed, row: Row, past: Floats
) -> tuple[Floats, Floats, Floats]:
    shapes = [(heads, row.length, create.head_dim) for heads in (create.heads, create.kv_heads, create.kv_heads)]
    if feed.family in (NEEDLES, CODED, EVEN):
        q, k, v = _needles(draw, shapes, create, past, feed.scales)
        return (q * 0.0 if feed.family == EVEN else q), k, v
    if feed.family in (CODES, ALIKE):
        book = _codebook(seed, create.kv_heads, 1 if feed.family == ALIKE else CODEBOOK, create.head_dim)
        return _codes(draw, shapes, create, book)
    parts = []
    for name, shape in zip("qkv", shapes, strict=True):
        family = feed.family if name in feed.parts else "normal"
        if family == STEEP:
            part = draw.normal(*shape, dtype=create.dtype, std=1.0 if name == "v" else 30.0)
        else:
            part = values(draw, family, *shape, dtype=create.dtype)
        parts.append(part)
    return parts[0], parts[1], parts[2]


def batch_of(rows: Sequence[Floats], span: int, fill: str) -> Floats:
    """Rows (heads, n, D) in one array (B, heads, span, D), with padding up to `span` positions."""
    heads, n, head_dim = rows[0].shape
    if len(rows) == 1 and n == span:
        return rows[0][None]
    out, what = np.empty((len(rows), heads, span, head_dim), rows[0].dtype), {"zero": 0.0, "large": LARGE}
    for whole, row in zip(out, rows, strict=True):
        n = row.shape[1]
        whole[:, :n] = row
        if n < span:
            rest = whole[:, n:]
            rest[...] = what[fill] if fill in what else np.sin(np.arange(rest.size)).reshape(rest.shape)
    return out


def _needles(
    draw: Draw, shapes: list[tuple[int, ...]], create: Create, past: Floats, scales: str
) -> tuple[Floats, Floats, Floats]:
    """Every query matches the key of one token that it sees, its own among them.

    Keys are of one length in every head, so that codes of them are as good in all tokens; `scales` says of which, and
    how large the values are, if they are to be held in codes.
    """
    (heads, n, head_dim), (kv_heads, _, _) = shapes[:2]
    scale = CODED_SCALES.get(scales, 1.0)
    k = draw.normal(kv_heads, n, head_dim)
    k = (k / np.sqrt((k * k).mean(axis=-1, keepdims=True)) * scale).astype(create.dtype)
    seen = np.concatenate([past, k], axis=1)
    window = create.option("window")
    last = past.shape[1] + np.arange(n)
    first = np.maximum(last - int(window) + 1, 0) if window else np.zeros(n, int)
    wanted = first + (draw.uniform(heads, n, low=0.0, high=1.0) * (last - first + 1)).astype(int)
    q = seen[np.arange(heads)[:, None] // create.groups, wanted] * (SHARPNESS / scale**2)
    v = draw.uniform(*shapes[2], low=-3.0, high=3.0) * scale if scales else draw.normal(*shapes[2])
    if scales == "mixed magnitudes":
        v *= SPAN_OF_MIXED ** draw.uniform(n, 1, low=0.0, high=1.0)
    return q.astype(create.dtype), k, v.astype(create.dtype)


@lru_cache(maxsize=16)
def _codebook(seed: int, kv_heads: int, different: int, head_dim: int) -> Floats:
    """The keys that the tokens of a program share, (Hkv, different, D)."""
    book = Draw(seed, "codes").normal(kv_heads, different, head_dim)
    book.flags.writeable = False
    return book


def _codes(
    draw: Draw, shapes: list[tuple[int, ...]], create: Create, book: Floats
) -> tuple[Floats, Floats, Floats]:
    """Keys are some of a few, and queries ask for one of them: many tokens weigh the same, the others much less."""
    (heads, n, _), (kv_heads, _, _) = shapes[:2]
    different = book.shape[1]
    head, kv_head = np.arange(heads)[:, None], np.arange(kv_heads)[:, None]
    k = book[kv_head, draw.rng.integers(0, different, (kv_heads, n))]
    q = book[head // create.groups, draw.rng.integers(0, different, (heads, n))] * 4.0
    return q.astype(create.dtype), k.astype(create.dtype), draw.normal(*shapes[2], dtype=create.dtype)
