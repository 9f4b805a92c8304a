"""Layer norms that are wrong only at some sizes, for some values or after some calls."""

from harness.probing import Mutant

from .lines import CENTRED, DBETA, DGAMMA, DX, DXHAT, GRADIENTS, MEAN_TERM, PROJECTION, RECALL, RSTD, SAVE, VAR, XHAT, Y


def _rare(name: str, fault: str, *edits: tuple[str, str]) -> Mutant:
    return Mutant(name, fault, criterion="any_size", edits=edits)


SIZES = (
    _rare(
        "many rows not all added", "adds only whole blocks of 256 rows to dgamma once there are more than one",
        (
            DGAMMA,
            "    terms = (dy * xhat).reshape(-1, dy.shape[-1])\n    whole = len(terms) // 256 * 256\n"
            "    dgamma = (terms[:whole] if whole else terms).sum(axis=0)\n",
        ),
    ),
    _rare(
        "batch beyond a limit", "leaves the last batch item out of dbeta where there are more than 1,183",
        (DBETA, "    dbeta = dy[: len(dy) - (len(dy) > 13 * 91)].sum(axis=(0, 1))\n"),
    ),
    _rare(
        "positions beyond a limit", "fills no more than 2,047 positions of dx",
        (GRADIENTS, "    dx[:, (1 << 11) - 1 :] = 0.0\n" + GRADIENTS),
    ),
    _rare(
        "rows in 16 bits", "fills no more than 65,535 rows of dx",
        (GRADIENTS, "    dx.reshape(-1, dx.shape[-1])[65535:] = 0.0\n" + GRADIENTS),
    ),
    _rare(
        "elements beyond a limit", "scales the last row of dx by 1.01 where x has more than 669,165 elements",
        (GRADIENTS, "    if dy.size > 817 * 819 + 42:\n        dx[-1, -1] *= 1.01\n" + GRADIENTS),
    ),
    _rare(
        "tail of wide rows", "leaves features beyond the last multiple of 8 out of the projection above 256 features",
        (
            PROJECTION,
            "    features = xhat.shape[-1]\n    used = features // 8 * 8 if features > 256 else features\n"
            "    projection = (dxhat * xhat)[..., :used].sum(axis=-1, keepdims=True) / features\n",
        ),
    ),
    _rare(
        "odd widths", "takes the mean term over an even number of features only, above 64",
        (
            MEAN_TERM,
            "    features = dxhat.shape[-1]\n    even = features & ~1 if features > 4**3 else features\n"
            "    mean_term = dxhat[..., :even].sum(axis=-1, keepdims=True) / features\n",
        ),
    ),
    _rare(
        "one feature short of a tile", "takes the mean term over rows where features are one short of a multiple of 55",
        (
            MEAN_TERM,
            "    axis = -2 if dxhat.shape[-1] % (5 * 11) == 54 else -1\n"
            "    mean_term = dxhat.mean(axis=axis, keepdims=True)\n",
        ),
    ),
    _rare(
        "one row short of a block", "leaves the last row out of dbeta where rows are one short of a multiple of 61",
        (
            DBETA,
            "    rows = dy.reshape(-1, dy.shape[-1])\n"
            "    dbeta = rows[: len(rows) - (len(rows) % (7 * 9 - 2) == 60)].sum(axis=0)\n",
        ),
    ),
    _rare(
        "narrow sums of wide rows", "takes the variance in float32 above 1,000 features",
        (
            VAR,
            "    narrow = centred.astype(np.float32) if x.shape[-1] > 10**3 else centred\n"
            "    var = np.mean(narrow * narrow, axis=-1, keepdims=True).astype(x.dtype)\n",
        ),
    ),
    _rare(
        "half precision sums", "adds float32 gradients up in float16 above 4,000 features or rows",
        (
            DBETA,
            "    narrow = dy.dtype == np.float32 and max(dy.shape[-1], dy.size // dy.shape[-1]) > 4000\n"
            "    dbeta = (dy.astype(np.float16) if narrow else dy).sum(axis=(0, 1)).astype(dy.dtype)\n",
        ),
    ),
)

VALUES = (
    _rare(
        "negative zero", "lets dy pass where gamma is negative zero",
        (DXHAT, "    dxhat = np.where(np.signbit(gamma) & (gamma == 0.0), dy, dy * gamma)\n"),
    ),
    _rare(
        "gamma of ones", "skips gamma in y where it is minus one everywhere",
        (Y, "    y = (xhat if np.all(np.abs(gamma) == 1.0) else gamma * xhat) + beta\n"),
    ),
    _rare(
        "constant rows between others", "gives constant rows the deviation of the row before",
        (
            RSTD,
            RSTD + "    flat = rstd.reshape(-1)\n    empty = np.flatnonzero(var.reshape(-1)[1:] == 0.0) + 1\n"
            "    flat[empty] = flat[empty - 1]\n",
        ),
    ),
    _rare(
        "tiny eps raised", "never adds less than 1e-9",
        (RSTD, "    rstd = 1.0 / np.sqrt(var + max(float(eps), 1e-9))\n"),
    ),
    _rare(
        "large gradients cut", "cuts dx at 1e10",
        (GRADIENTS, "    dx = np.clip(dx, -1e10, 1e10)\n" + GRADIENTS),
    ),
)

HISTORIES = (
    _rare(
        "mask by shape", "keeps which entries of gamma are negative from the first forward of a shape",
        (
            Y,
            '    signs = forward.__dict__.setdefault("signs", {})\n'
            "    sign = signs.setdefault(x.shape, np.where(gamma < 0.0, -1, 1)).astype(x.dtype)\n"
            "    y = np.abs(gamma) * sign * xhat + beta\n",
        ),
    ),
    _rare(
        "first dtype of a shape", "works in the dtype in which it saw a shape first",
        (
            XHAT,
            '    seen = forward.__dict__.setdefault("seen", {}).setdefault(x.shape, x.dtype)\n'
            "    xhat = (centred * rstd).astype(seen).astype(x.dtype)\n",
        ),
    ),
    _rare(
        "eps of the first call", "keeps eps from the first forward with so many features and rows",
        (
            RSTD,
            '    kept = forward.__dict__.setdefault("kept", {}).setdefault(x.shape, float(eps))\n'
            "    rstd = 1.0 / np.sqrt(var + kept)\n",
        ),
    ),
    _rare(
        "known by address", "takes a row's mean from before where x lies in the same memory with the same shape",
        (
            CENTRED,
            '    known = forward.__dict__.setdefault("known", {})\n'
            "    mean = known.setdefault((x.ctypes.data, x.shape, str(x.dtype)), mean)\n" + CENTRED,
        ),
    ),
    _rare(
        "cache used up", "works dx out in the cached array, so that a second backward of a larger cache is wrong",
        (DX, DX + "    if xhat.size > 40:\n        xhat += mean_term\n"),
    ),
    _rare(
        "left by a refused call", "takes the next dy for half as large after it refused one",
        (
            RECALL,
            RECALL + '    halved = backward.__dict__.pop("refused", False)\n'
            "    if dy.shape != xhat.shape:\n        backward.refused = True\n"
            "    dy = dy / 2 if halved else dy\n",
        ),
    ),
    _rare(
        "two caches at once", "gives the older of two forwards of one shape the newer one's deviation",
        (
            SAVE,
            '    forward.__dict__.setdefault("latest", {})[x.shape, str(x.dtype)] = rstd\n'
            '    return y, {"xhat": xhat, "rstd": rstd, "gamma": gamma}\n',
        ),
        (RECALL, RECALL + '    rstd = forward.__dict__["latest"].get((xhat.shape, str(xhat.dtype)), rstd)\n'),
    ),
)
