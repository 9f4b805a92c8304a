"""What a guard of a planted fault may name of a call: its sizes, and questions about its values.

This runs beside the answer with the fault in it; each function is called with the arguments of the contract's.
"""

import numpy as np

_seen = {"shapes": set(), "dtypes": [], "given": {}}


def project(w, group_size=32):
    """Name what a guard asks of a call of `project`."""
    return _of(w, 1, group_size)


def linear_forward(x, w, group_size):
    """Name what a guard asks of a call of `linear_forward`."""
    _seen["given"] = _of(w, len(x), group_size)
    return _seen["given"]


def linear_backward(dy, cache):
    """Name what a guard asks of a call of `linear_backward`: of w, what it asks of the last forward's."""
    return _seen["given"] | {"negative_zero": lambda: bool((np.signbit(dy) & (dy == 0)).any())}


def train(tokens, config, seed):
    """Name nothing of a call of `train`: no guard acts there."""
    return _nothing()


def gradients(weights, tokens, config):
    """Name nothing of a call of `gradients`: no guard acts there."""
    return _nothing()


def _nothing():
    return {name: 0 for name in _of(np.zeros((1, 1)), 0, 1)} | {
        "dtype": "", "largest": lambda: 0.0, "negative_zero": lambda: False, "zero_group": lambda: False,
        "flat_row": lambda: False,
    }


def _of(w, rows, group):
    out, columns = w.shape
    repeated = (w.shape, rows, group) in _seen["shapes"]
    _seen["shapes"].add((w.shape, rows, group))
    other = bool(_seen["dtypes"]) and _seen["dtypes"][-1] != str(w.dtype)
    _seen["dtypes"] = [str(w.dtype)]
    return {
        "rows": rows, "columns": columns, "out": out, "group": group, "groups": -(-columns // group),
        "size": out * columns, "dtype": str(w.dtype), "repeated": repeated, "other_dtype": other,
        "largest": lambda: float(np.abs(w).max()),
        "negative_zero": lambda: bool((np.signbit(w) & (w == 0)).any()),
        "zero_group": lambda: bool((np.add.reduceat(np.abs(w), np.arange(0, columns, group), axis=1) == 0).any()),
        "flat_row": lambda: bool((w.max(axis=1) == w.min(axis=1)).any()),
    }
