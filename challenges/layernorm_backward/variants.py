"""Right layer norms that work differently from the reference: every probe must stay silent on them."""

from dataclasses import replace

from harness.probing import Variant

from .lines import (
    CENTRED,
    DBETA,
    DGAMMA,
    DX,
    MEAN,
    MEAN_TERM,
    PROJECTION,
    RECALL,
    REQUIRE,
    SAVE,
    VAR,
    XHAT,
)
from .variants_sums import SUMS

MAKES = (
    Variant(
        "running sums",
        "adds left to right in blocks of 32 instead of pairwise",
        edits=(
            (MEAN, "    mean = _running_sum(x) / x.shape[-1]\n"),
            (VAR, "    var = _running_sum(centred * centred) / x.shape[-1]\n"),
            (MEAN_TERM, "    mean_term = _running_sum(dxhat) / xhat.shape[-1]\n"),
            (PROJECTION, "    projection = _running_sum(dxhat * xhat) / xhat.shape[-1]\n"),
            (
                REQUIRE,
                "def _running_sum(values: Array) -> Array:\n"
                "    blocks = np.array_split(values, -(-values.shape[-1] // 32), axis=-1)\n"
                "    return sum(block.cumsum(axis=-1)[..., -1:] for block in blocks)\n\n\n" + REQUIRE,
            ),
        ),
    ),
    Variant(
        "shifted by the first feature",
        "subtracts x[..., :1], exact for near values, before the mean",
        edits=((MEAN, "    x = x - x[..., :1]\n" + MEAN),),
    ),
    Variant(
        "mean refined",
        "centres a second time, which removes the rounding of the first mean",
        edits=((CENTRED, CENTRED + "    centred = centred - centred.mean(axis=-1, keepdims=True)\n"),),
    ),
    Variant(
        "numpy variance",
        "leaves mean and variance to NumPy and divides by the deviation",
        edits=(
            (VAR, "    var = np.var(x, axis=-1, keepdims=True)\n"),
            (XHAT, "    xhat = centred / np.sqrt(var + float(eps))\n"),
        ),
    ),
    Variant(
        "einsum",
        "contracts every sum of products with einsum",
        edits=(
            (VAR, '    var = np.einsum("btd,btd->bt", centred, centred)[..., None] / x.shape[-1]\n'),
            (DGAMMA, '    dgamma = np.einsum("btd,btd->d", dy, xhat)\n'),
            (DBETA, '    dbeta = np.einsum("btd->d", dy)\n'),
            (PROJECTION, '    projection = np.einsum("btd,btd->bt", dxhat, xhat)[..., None] / xhat.shape[-1]\n'),
        ),
    ),
    Variant(
        "matrix products",
        "adds over the rows by products with a row of ones",
        edits=(
            (
                DGAMMA,
                "    ones = np.ones(dy.shape[0] * dy.shape[1], dy.dtype)\n"
                "    dgamma = ones @ (dy * xhat).reshape(ones.size, -1)\n",
            ),
            (DBETA, "    dbeta = ones @ dy.reshape(ones.size, -1)\n"),
        ),
    ),
    Variant(
        "sums outside the bracket",
        "keeps rstd/D in front and sums instead of means inside",
        edits=(
            (MEAN_TERM, "    features = dxhat.shape[-1]\n    total = dxhat.sum(axis=-1, keepdims=True)\n"),
            (PROJECTION, "    moment = (dxhat * xhat).sum(axis=-1, keepdims=True)\n"),
            (DX, "    dx = rstd / features * (features * dxhat - total - xhat * moment)\n"),
        ),
    ),
    Variant(
        "tuple cache",
        "hands the cache over as a tuple",
        edits=(
            (SAVE, "    return y, (xhat, rstd, gamma)\n"),
            (RECALL, "    xhat, rstd, gamma = cache\n"),
        ),
    ),
    Variant(
        "standardised again",
        "keeps x instead of its standardised rows and standardises again in backward",
        edits=(
            (SAVE, '    return y, {"x": x, "gamma": gamma, "eps": float(eps)}\n'),
            (
                RECALL,
                '    x, gamma, eps = cache["x"], cache["gamma"], cache["eps"]\n'
                "    centred = x - x.mean(axis=-1, keepdims=True)\n"
                "    rstd = 1.0 / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + eps)\n" + XHAT,
            ),
        ),
    ),
    Variant(
        "deviation kept",
        "keeps centred rows and deviations and divides by the deviation in backward",
        edits=(
            (SAVE, '    return y, {"centred": centred, "std": np.sqrt(var + float(eps)), "gamma": gamma}\n'),
            (RECALL, '    std, gamma = cache["std"], cache["gamma"]\n    xhat = cache["centred"] / std\n'),
            (DX, "    dx = (dxhat - mean_term - xhat * projection) / std\n"),
        ),
    ),
    Variant(
        "double inside",
        "computes float32 input in float64 and rounds what it returns",
        edits=(
            (MEAN, "    given, x = x.dtype, x.astype(np.float64)\n" + MEAN),
            (
                SAVE,
                '    kept = {"xhat": xhat.astype(given), "rstd": rstd.astype(given), "gamma": gamma}\n'
                "    return y.astype(given), kept\n",
            ),
            (RECALL, RECALL + "    given, dy = dy.dtype, dy.astype(np.float64)\n"),
            (DX, DX + "    dx, dgamma, dbeta = dx.astype(given), dgamma.astype(given), dbeta.astype(given)\n"),
        ),
    ),
    Variant(
        "welford by rows",
        "one-pass statistics by Welford and Chan, then row by row in Python",
        file="variants/welford_rows.py",
    ),
    Variant(
        "step by step",
        "no closed form: the chain rule through deviation, variance and mean, on a (B*T, D) matrix",
        file="variants/stepwise.py",
    ),
    Variant(
        "projector",
        "batched matrix products with the projector onto 1 and xhat in each row",
        file="variants/projector.py",
    ),
    *SUMS,
)
# how fast it is compared with the reference is no question of right or wrong
VARIANTS = tuple(replace(make, unmet=("backward_speed",)) for make in MAKES)
