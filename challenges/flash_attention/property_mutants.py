"""Faults that break one property of any right attention: what follows its source, and wraps it."""

from harness.probing import PropertyMutant

AROUND = """

_planted_right, _planted_calls = flash_attention_fwd, []


def flash_attention_fwd(q, k, v, tile_size, causal={default}):
    _planted_calls.append(1)
    {before}
    o = _planted_right(q, k, v, tile_size, causal)
    return {result}
"""


def _mutant(name: str, criterion: str, result: str = "o", before: str = "pass", default: bool = True) -> PropertyMutant:
    around = AROUND.format(result=result, before=before, default=default)
    return PropertyMutant(name, criterion=criterion, around=around)


PROPERTY_MUTANTS = (
    _mutant("scale of 1/8", "values", before="q = q * q.dtype.type(q.shape[3] ** 0.5 / 8)"),
    _mutant("later values seen", "causality", "o + (causal * 0.1 * v.mean(axis=2, keepdims=True)).astype(o.dtype)"),
    _mutant("later values next to hidden", "causality",
            "o + (causal * 1e-26 * (v.sum(axis=2, keepdims=True) - v.cumsum(axis=2))).astype(o.dtype)"),
    _mutant("not causal by default", "causal_default", default=False),
    _mutant("tiles that do not fit", "tile_invariance", "o * o.dtype.type(1.01 if q.shape[2] % tile_size else 1)"),
    _mutant("the first head in all", "independence", "o + o.dtype.type(0.1) * o[:, :1] * (o.shape[1] > 1)"),
    _mutant("calls counted", "statelessness", "o * o.dtype.type(1 + 1e-3 * len(_planted_calls))"),
    _mutant("values times what scores rise by", "extreme_scale",
            "o + 0 * (abs(v).max() * o.dtype.type(8) ** ((q @ k.swapaxes(2, 3)).max() / q.shape[3] ** 0.5))"),
    _mutant("always float64", "dtype", "o.astype('float64')"),
    _mutant("k of another length cut", "argument_errors", before="k = k[:, :, : q.shape[2]]"),
    _mutant("all scores at once", "no_score_matrix", before="scores = q @ k.swapaxes(2, 3)"),
    _mutant("memory of the square", "memory_growth", before="square = bytearray(4 * q.shape[2] ** 2)"),
    _mutant("k in the order of its memory", "any_layout", before="k = k.ravel(order='K').reshape(k.shape)"),
    _mutant("k in the order of q", "any_layout",
            before="unlike = q.flags.c_contiguous and not k.flags.c_contiguous\n"
                   "    k = k.ravel(order='K').reshape(k.shape) if unlike else k"),
    _mutant("values that are keys", "any_layout", before="v = 2 * v if v is k else v"),
    _mutant("the buffer of v", "any_layout", before="v = type(v)(v.shape, v.dtype, v.data)"),
    _mutant("no tile skipped", "tile_skipping", before="causal and _planted_right(q, k, v, tile_size, False)"),
)  # fmt: skip
