"""Layer norms that are wrong where arrays are large, are passed again, lie in other memory, or share it."""

from harness.probing import Mutant

from .lines import CENTRED, DBETA, DGAMMA, DX, DXHAT, MEAN, MEAN_TERM, PROJECTION, RECALL, SAVE, XHAT, Y


def _planted(name: str, criterion: str, fault: str, *edits: tuple[str, str]) -> Mutant:
    return Mutant(name, fault, criterion=criterion, edits=edits)


LARGE = (
    _planted(
        "large dy in place", "statelessness", "works in the caller's dy where it has 65,536 entries or more",
        (DXHAT, "    large = dy.size >= 1 << 16 and dy.flags.writeable\n"
                "    dxhat = np.multiply(dy, gamma, out=dy if large else None)\n"),
    ),
    _planted(
        "large x in place", "statelessness", "centres the caller's x where it has more than 65,536 entries",
        (CENTRED, "    large = x.size > 1 << 16 and x.flags.writeable\n"
                  "    centred = np.subtract(x, mean, out=x if large else None)\n"),
    ),
    _planted(
        "wide gamma in place", "statelessness", "rounds the caller's gamma where it is wider than 65,535",
        (SAVE, "    if len(gamma) > 0xFFFF and gamma.flags.writeable:\n"
               "        gamma *= 1 + np.finfo(x.dtype).eps\n" + SAVE),
    ),
    _planted(
        "large cache used up", "statelessness", "works dx out in the cached array where it has 65,536 entries or more",
        (DX, DX + "    if xhat.size >= 1 << 16:\n        xhat += mean_term\n"),
    ),
    _planted(
        "large buffer reused", "statelessness", "writes y into one array where it has more than 65,536 entries",
        (Y, Y + "    if y.size > 1 << 16:\n"
                "        kept = forward.__dict__.setdefault((x.shape, x.dtype.str), y.copy())\n"
                "        kept[...] = y\n        y = kept\n"),
    ),
)  # fmt: skip

AGAIN = (
    _planted(
        "known by identity", "statelessness", "takes a row's mean from before where x is the same array",
        (MEAN, MEAN + '    known = forward.__dict__.setdefault("known", {})\n'
                      "    mean = known.setdefault(id(x), (x, mean))[1]\n"),
    ),
    _planted(
        "known by its corners", "statelessness",
        "takes means from before where x begins and ends with the same numbers",
        (MEAN, MEAN + '    known = forward.__dict__.setdefault("known", {})\n'
                      "    mean = known.setdefault((x.shape, float(x[0, 0, 0]), float(x[-1, -1, -1])), mean)\n"),
    ),
)  # fmt: skip

SHARED = (
    _planted(
        "y is in the cache", "statelessness", "returns the array it caches as y where gamma is 1 and beta 0",
        (Y, "    plain = (gamma == 1.0).all() and not beta.any()\n    y = xhat if plain else gamma * xhat + beta\n"),
    ),
    _planted(
        "dbeta is dy", "statelessness", "returns a view of dy as dbeta where there is one row",
        (DBETA, "    dbeta = dy.reshape(-1) if dy.shape[:2] == (1, 1) else dy.sum(axis=(0, 1))\n"),
    ),
)  # fmt: skip

LAYOUTS = (
    _planted(
        "memory order", "any_layout", "reads x in the order of its memory",
        (MEAN, '    x = x.ravel(order="K").reshape(x.shape)\n' + MEAN),
    ),
    _planted(
        "bare buffer", "any_layout", "reads dy from its buffer, which must be contiguous",
        (RECALL, RECALL + "    dy = np.frombuffer(dy.data, dy.dtype).reshape(dy.shape)\n"),
    ),
    _planted(
        "strides of its own", "any_layout",
        "takes the rows of x to lie side by side wherever its last axis is contiguous",
        (MEAN, "    step = x.itemsize\n    if x.strides[-1] == step:\n"
               "        side_by_side = (x[0].size * step, x[0, 0].size * step, step)\n"
               "        x = np.lib.stride_tricks.as_strided(x, x.shape, side_by_side)\n" + MEAN),
    ),
    _planted(
        "filled through a copy", "any_layout",
        "fills y through a reshaped array, which is a copy where x is transposed",
        (Y, "    y, rows = np.ones_like(x), (-1, len(gamma))\n"
            "    y.reshape(rows)[...] = (gamma * xhat + beta).reshape(rows)\n"),
    ),
    _planted(
        "view written to", "any_layout", "works in the caller's dy where it is no contiguous array",
        (DXHAT, "    view = dy.flags.writeable and not dy.flags.c_contiguous\n"
                "    dxhat = np.multiply(dy, gamma, out=dy if view else None)\n"),
    ),
    _planted(
        "broadcast row once", "any_layout", "takes a row that is broadcast for one row",
        (DGAMMA, "    own = tuple(slice(1) if step == 0 else slice(None) for step in dy.strides)\n"
                 "    dgamma = (dy * xhat)[own].sum(axis=(0, 1))\n"),
    ),
)  # fmt: skip

SIZES = (
    _planted(
        "narrow rows in blocks", "any_size",
        "adds over blocks of 4 rows where there are 256 or more, of 64 features at most",
        (MEAN_TERM, "    rows, width = dxhat.size // dxhat.shape[-1], dxhat.shape[-1]\n"
                    "    block = 4 if width <= 64 and rows >= 256 and rows % 4 == 0 else 1\n"
                    "    mean_term = dxhat.reshape(-1, block, width).mean(axis=(1, 2), keepdims=True)\n"
                    "    mean_term = mean_term.repeat(block, axis=1).reshape(*dxhat.shape[:2], 1)\n"),
    ),
    _planted(
        "one tile of wide rows", "any_size", "takes the projection over the first 2,048 features",
        (PROJECTION, "    projection = (dxhat * xhat)[..., :2048].sum(axis=-1, keepdims=True) / xhat.shape[-1]\n"),
    ),
    _planted(
        "positions of 16 bits", "any_size", "keeps no xhat beyond 65,535 features",
        (XHAT, XHAT + "    xhat[..., 0xFFFF:] = 0\n"),
    ),
    _planted(
        "mean of the first tile", "any_size", "centres rows wider than 2,048 by the mean of their first 2,048 features",
        (MEAN, "    mean = x[..., :2048].mean(axis=-1, keepdims=True)\n"),
    ),
)  # fmt: skip

CALLS = (*LARGE, *AGAIN, *SHARED, *LAYOUTS, *SIZES)
