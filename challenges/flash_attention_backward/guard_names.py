"""What a guard of a planted fault may name of a call to either pass.

This follows `guard_names.py` of `flash_attention` in one source, and runs beside the answer with the fault in it.
"""

import numpy as np

_name_attention = flash_attention_fwd  # noqa: F821
_NONE = {"zero_do": lambda: False, "largest_do": lambda: 0.0}


def flash_attention_fwd(q, k, v, tile_size, causal=True):
    """Name what a guard asks of a forward; a backward shares what it asks of its cache's inputs."""
    return _name_attention(q, k, v, tile_size, causal) | _NONE


def flash_attention_bwd(do, cache, tile_size, causal=True):
    """Name what a guard asks of a backward."""
    own = {
        "zero_do": lambda: bool((do == 0).all(axis=-1).any()),
        "largest_do": lambda: float(np.abs(do).max()),
    }
    return _name_attention(cache["Q"], cache["K"], cache["V"], tile_size, causal) | own
