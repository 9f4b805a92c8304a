"""Right layer norms whose sums run in other orders or widths, or whose steps are cut differently."""

from harness.probing import Variant

from .lines import (
    CENTRED,
    DBETA,
    DGAMMA,
    DX,
    DXHAT,
    MEAN,
    MEAN_TERM,
    PROJECTION,
    RECALL,
    REQUIRE,
    SAVE,
    VAR,
    XHAT,
    Y,
)


def _helper(source: str) -> tuple[str, str]:
    """An edit that adds a function to the module."""
    return REQUIRE, source + "\n\n" + REQUIRE


def _every_sum(features: str, rows: str) -> tuple[tuple[str, str], ...]:
    """Edits that take each mean over features, and each sum over rows, by the functions named."""
    return (
        (MEAN, f"    mean = {features}(x)\n"),
        (VAR, f"    var = {features}(centred * centred)\n"),
        (MEAN_TERM, f"    mean_term = {features}(dxhat)\n"),
        (PROJECTION, f"    projection = {features}(dxhat * xhat)\n"),
        (DGAMMA, f"    dgamma = {rows}(dy * xhat)\n"),
        (DBETA, f"    dbeta = {rows}(dy)\n"),
    )


HALVES = '''def _total(values: Array) -> Array:
    """Sum over the first axis: of each half, then of both."""
    if len(values) <= 8:
        return sum(values[1:], values[0].copy())
    half = len(values) // 2
    return _total(values[:half]) + _total(values[half:])


def _mean(values: Array) -> Array:
    return _total(np.moveaxis(values, -1, 0))[..., None] / values.shape[-1]


def _over_rows(values: Array) -> Array:
    return _total(values.reshape(-1, values.shape[-1]))
'''

COMPENSATED = '''def _total(values: Array) -> Array:
    """Sum over the first axis in up to 64 interleaved lanes, each with its rounding carried along (Kahan)."""
    lanes = min(64, len(values))
    whole = len(values) // lanes * lanes
    total = np.zeros_like(values[:lanes])
    lost = np.zeros_like(total)
    for first in range(0, whole, lanes):
        term = values[first : first + lanes] - lost
        raised = total + term
        lost = (raised - total) - term
        total = raised
    return total.sum(axis=0) + values[whole:].sum(axis=0)


def _mean(values: Array) -> Array:
    return _total(np.ascontiguousarray(np.moveaxis(values, -1, 0)))[..., None] / values.shape[-1]


def _over_rows(values: Array) -> Array:
    return _total(values.reshape(-1, values.shape[-1]))
'''

EXACT = '''def _mean(values: Array) -> Array:
    """Exactly rounded sums (Shewchuk's algorithm, as math.fsum has it), one row after the other."""
    rows = values.reshape(-1, values.shape[-1]).tolist()
    sums = np.array([fsum(row) for row in rows]).reshape(*values.shape[:-1], 1)
    return (sums / values.shape[-1]).astype(values.dtype)


def _over_rows(values: Array) -> Array:
    columns = values.reshape(-1, values.shape[-1]).T.tolist()
    return np.array([fsum(column) for column in columns]).astype(values.dtype)
'''

WIDE = '''def _mean(values: Array) -> Array:
    """Accumulated in float64, whatever is given."""
    return values.mean(axis=-1, keepdims=True, dtype=np.float64).astype(values.dtype)


def _over_rows(values: Array) -> Array:
    return values.sum(axis=(0, 1), dtype=np.float64).astype(values.dtype)
'''

CUT = '''def _mean(values: Array) -> Array:
    """Rows one after the other in memory, each cut out where it begins."""
    starts = np.arange(0, values.size, values.shape[-1])
    return np.add.reduceat(values.ravel(), starts).reshape(*values.shape[:-1], 1) / values.shape[-1]


def _over_rows(values: Array) -> Array:
    """Blocks of 256 rows first, then over the blocks."""
    rows = values.reshape(-1, values.shape[-1])
    return np.add.reduce(np.add.reduceat(rows, np.arange(0, len(rows), 256), axis=0), axis=0)
'''

BACKWARDS = '''def _mean(values: Array) -> Array:
    """From the last feature to the first, eight lanes at once."""
    count = values.shape[-1]
    padded = np.zeros((*values.shape[:-1], -(-count // 8) * 8), values.dtype)
    padded[..., :count] = values[..., ::-1]
    lanes = padded.reshape(*values.shape[:-1], 8, -1)
    return lanes.sum(axis=-1).sum(axis=-1, keepdims=True) / count


def _over_rows(values: Array) -> Array:
    return values[::-1].sum(axis=0)[::-1].sum(axis=0)
'''

TILES = '''def _tile_statistics(x: Array) -> tuple[Array, Array]:
    """Mean and variance (B,T,1) over tiles of 96 features, merged two at a time (Chan, Golub and LeVeque)."""
    tiles = [x[..., first : first + 96] for first in range(0, x.shape[-1], 96)]
    parts = [(t.shape[-1], m := t.mean(axis=-1, keepdims=True), ((t - m) ** 2).sum(-1, keepdims=True)) for t in tiles]
    while len(parts) > 1:
        merged = [_merged(*pair) for pair in zip(parts[::2], parts[1::2])]
        parts = merged + parts[2 * len(merged) :]
    count, mean, spread = parts[0]
    return mean, spread / count


def _merged(one: tuple[int, Array, Array], two: tuple[int, Array, Array]) -> tuple[int, Array, Array]:
    (n, mean, spread), (m, other, others) = one, two
    apart, share = other - mean, m / (n + m)
    return n + m, mean + apart * share, spread + others + apart * apart * (n * share)
'''

SUMS = (
    Variant(
        "by halves", "adds each half of a sum by itself, down to eight terms",
        edits=(*_every_sum("_mean", "_over_rows"), _helper(HALVES)),
    ),
    Variant(
        "compensated", "carries the rounding of every addition along, in 64 lanes",
        edits=(*_every_sum("_mean", "_over_rows"), _helper(COMPENSATED)),
    ),
    Variant(
        "exactly rounded", "rounds every sum once, by math.fsum",
        edits=(
            *_every_sum("_mean", "_over_rows"), _helper(EXACT),
            ("from typing import Any\n", "from math import fsum\nfrom typing import Any\n"),
        ),
    ),
    Variant(
        "wide accumulators", "keeps float32 arrays and accumulates their sums in float64",
        edits=(*_every_sum("_mean", "_over_rows"), _helper(WIDE)),
    ),
    Variant(
        "cut out of one array", "sums with reduceat over flat memory, and over the rows in blocks of 256",
        edits=(*_every_sum("_mean", "_over_rows"), _helper(CUT)),
    ),
    Variant(
        "from the end", "adds the last feature, position and batch item first",
        edits=(*_every_sum("_mean", "_over_rows"), _helper(BACKWARDS)),
    ),
    Variant(
        "tiles of features", "takes statistics by tiles of 96 features and merges them",
        edits=((MEAN, "    mean, var = _tile_statistics(x)\n"), (VAR, ""), _helper(TILES)),
    ),
    Variant(
        "one projection after the other", "takes the mean out of dxhat first and the part along xhat out of the rest",
        edits=(
            (MEAN_TERM, "    rest = dxhat - dxhat.mean(axis=-1, keepdims=True)\n"),
            (PROJECTION, "    projection = (rest * xhat).mean(axis=-1, keepdims=True)\n"),
            (DX, "    dx = rstd * (rest - projection * xhat)\n"),
        ),
    ),
    Variant(
        "length of a row", "takes the deviation from the length of the centred row and multiplies by sqrt(D)",
        edits=((VAR, "    var = np.square(np.linalg.norm(centred, axis=-1, keepdims=True)) / x.shape[-1]\n"),),
    ),
    Variant(
        "own buffers", "works in place on arrays of its own, three in all",
        edits=(
            (CENTRED, "    centred = np.subtract(x, mean, out=np.empty_like(x))\n"),
            (XHAT, "    xhat = np.multiply(centred, rstd, out=centred)\n"),
            (Y, "    y = np.multiply(gamma, xhat, out=np.empty_like(x))\n    y += beta\n"),
            (DGAMMA, "    work = np.multiply(dy, xhat, out=np.empty_like(dy))\n    dgamma = work.sum(axis=(0, 1))\n"),
            (DXHAT, "    work *= gamma\n"),
            (PROJECTION, "    projection = work.mean(axis=-1, keepdims=True)\n"),
            (MEAN_TERM, ""),
            (
                DX,
                "    np.multiply(xhat, -projection, out=work)\n"
                "    dxhat = np.multiply(dy, gamma, out=np.empty_like(dy))\n"
                "    work += dxhat\n    work -= dxhat.mean(axis=-1, keepdims=True)\n"
                "    dx = np.multiply(work, rstd, out=work)\n",
            ),
        ),
    ),
    Variant(
        "filled when needed", "keeps x and standardises at the first backward, which notes the result in the cache",
        edits=(
            (SAVE, '    return y, {"x": x, "rstd": rstd, "gamma": gamma}\n'),
            (
                RECALL,
                '    if "xhat" not in cache:\n'
                '        x = cache.pop("x")\n'
                '        cache["xhat"] = (x - x.mean(axis=-1, keepdims=True)) * cache["rstd"]\n' + RECALL,
            ),
        ),
    ),
    Variant(
        "blocks of rows", "works through the rows 48 at a time, with partial sums of dgamma and dbeta for each block",
        file="variants/row_blocks.py",
    ),
    Variant(
        "features first", "turns the rows into columns, so that every statistic is a sum over the first axis",
        file="variants/columns.py",
    ),
)  # fmt: skip
