"""What a guard of a planted fault may name of a call: its sizes, and questions about its values.

This runs beside the answer with the fault in it; each function is called with the arguments of the contract's.
"""

import numpy as np

_seen = {"shapes": set(), "dtypes": [], "given": {}}


def forward(x, gamma, beta, eps):
    """Name what a guard asks of a call of `forward`."""
    names = _sizes(x) | {
        "flat_row": lambda: bool((x.max(axis=-1) == x.min(axis=-1)).any()),
        "equal_rows": lambda: len(np.unique(x.reshape(-1, x.shape[-1]), axis=0)) < x.size // x.shape[-1],
        "largest": lambda: float(np.abs(x).max()),
        "zero_gamma": lambda: not gamma.all(),
        "unit_gamma": lambda: bool((gamma == 1).all()),
        "offset": lambda: float((np.abs(x.mean(axis=-1)) / (x.std(axis=-1) + 1e-30)).max()),
    }
    repeated = (x.shape, str(x.dtype)) in _seen["shapes"]
    _seen["shapes"].add((x.shape, str(x.dtype)))
    other = bool(_seen["dtypes"]) and _seen["dtypes"][-1] != str(x.dtype)
    _seen["dtypes"] = [str(x.dtype)]
    _seen["given"] = names | {"repeated": repeated, "other_dtype": other}
    return dict(_seen["given"], negative_zero=lambda: _negative_zero(x), zero_row=lambda: _zero_row(x))


def backward(dy, cache):
    """Name what a guard asks of a call of `backward`: of x, what it asks of the last forward's."""
    own = {"negative_zero": lambda: _negative_zero(dy), "zero_row": lambda: _zero_row(dy)}
    return _seen["given"] | _sizes(dy) | own


def _sizes(values):
    B, T, D = values.shape
    return {"B": B, "T": T, "D": D, "rows": B * T, "size": values.size, "dtype": str(values.dtype)}


def _negative_zero(values):
    return bool((np.signbit(values) & (values == 0)).any())


def _zero_row(values):
    return bool((values == 0).all(axis=-1).any())
