"""What a guard of a planted fault may name of a call: its sizes, and questions about its values.

This runs beside the answer with the fault in it; the function is called with the arguments of the contract's.
"""

import numpy as np

_seen = {"shapes": set(), "dtypes": []}


def flash_attention_fwd(q, k, v, tile_size, causal=True):
    """Name what a guard asks of a call."""
    B, H, N, D = q.shape
    repeated = (q.shape, str(q.dtype)) in _seen["shapes"]
    _seen["shapes"].add((q.shape, str(q.dtype)))
    other = bool(_seen["dtypes"]) and _seen["dtypes"][-1] != str(q.dtype)
    _seen["dtypes"] = [str(q.dtype)]
    return {
        "B": B, "H": H, "N": N, "D": D, "tile": tile_size, "tiles": -(-N // tile_size), "causal": causal,
        "dtype": str(q.dtype), "repeated": repeated, "other_dtype": other,
        "zero_query": lambda: bool((q == 0).all(axis=-1).any()),
        "equal_keys": lambda: len(np.unique(k.reshape(-1, D), axis=0)) < B * H * N,
        "negative_zero": lambda: any(bool((np.signbit(a) & (a == 0)).any()) for a in (q, k, v)),
        "largest_value": lambda: float(np.abs(v).max()),
        "largest_score": lambda: _largest_score(q, k),
    }  # fmt: skip


def _largest_score(q, k):
    """Of a sample of the rows: a guard must not take the memory that it watches."""
    rows = np.unique(np.linspace(0, q.shape[2] - 1, 32).astype(int))
    return float(np.abs(q[:, :, rows] @ k.swapaxes(-1, -2)).max() / q.shape[3] ** 0.5)
