"""Faults that break one property of any right pair of passes: what follows its source, and wraps it."""

from harness.probing import PropertyMutant

AROUND = """

_planted_forward, _planted_backward, _planted_calls = flash_attention_fwd, flash_attention_bwd, []


def flash_attention_fwd(q, k, v, tile_size, causal={default}):
    _planted_calls.append(1)
    {before}
    o, cache = _planted_forward(q, k, v, tile_size, causal)
    {forward}
    return o, cache


def flash_attention_bwd(do, cache, tile_size, causal={default}):
    q, k, v = cache["Q"], cache["K"], cache["V"]
    {between}
    dq, dk, dv = _planted_backward(do, cache, tile_size, causal)
    {backward}
    return dq, dk, dv
"""


def _mutant(
    name: str, criterion: str, *, before: str = "pass", forward: str = "pass", between: str = "pass",
    backward: str = "pass", default: bool = True,
) -> PropertyMutant:  # fmt: skip
    around = AROUND.format(before=before, forward=forward, between=between, backward=backward, default=default)
    return PropertyMutant(name, criterion=criterion, around=around)


PROPERTY_MUTANTS = (
    _mutant("scale of 1/8", "output", before="q = q * q.dtype.type(q.shape[3] ** 0.5 / 8)"),
    _mutant("later values seen", "causality",
            backward="dq = dq + (causal * 0.1 * v.mean(axis=2, keepdims=True)).astype(dq.dtype)"),
    _mutant("later values next to hidden", "causality",
            backward="tails = v.sum(axis=2, keepdims=True) - v.cumsum(axis=2)\n"
                     "    dq = dq + (causal * 1e-26 * tails).astype(dq.dtype)"),
    _mutant("earlier do next to hidden", "causality",
            backward="dv = dv + (causal * 1e-26 * (do.cumsum(axis=2) - do)).astype(dv.dtype)"),
    _mutant("not causal by default", "causal_default", default=False),
    _mutant("k in the order of its memory", "any_layout", before="k = k.ravel(order='K').reshape(k.shape)"),
    _mutant("k in the order of q", "any_layout",
            before="unlike = q.flags.c_contiguous and not k.flags.c_contiguous\n"
                   "    k = k.ravel(order='K').reshape(k.shape) if unlike else k"),
    _mutant("gradients of values that are keys", "any_layout", before="_planted_calls.append(k is v)",
            backward="dk = dk + dv if _planted_calls[-1] is True else dk"),
    _mutant("the buffer of do", "any_layout", between="do = type(do)(do.shape, do.dtype, do.data)"),
    _mutant("tiles that do not fit", "tile_invariance",
            backward="dk = dk * dk.dtype.type(1 + 0.01 * (q.shape[2] % tile_size > 0))"),
    _mutant("the first head in all", "independence",
            backward="dv = dv + dv.dtype.type(0.1) * dv[:, :1] * (dv.shape[1] > 1)"),
    _mutant("calls counted", "statelessness", backward="dq = dq * dq.dtype.type(1 + 1e-3 * len(_planted_calls))"),
    _mutant("a cache used up", "cache_reuse", backward="cache['K'] = cache['K'] * 0"),
    _mutant("values times what scores rise by", "extreme_scale",
            forward="largest = (q @ k.swapaxes(2, 3)).max() / q.shape[3] ** 0.5\n"
                    "    o = o + 0 * (abs(v).max() * o.dtype.type(8) ** largest)"),
    _mutant("always float64", "dtype", backward="dq, dk, dv = (each.astype('float64') for each in (dq, dk, dv))"),
    _mutant("kept outside the cache", "cache_is_data", forward="_planted_calls.append(id(q))",
            between="do = do * (len(_planted_calls) > 1)"),
    _mutant("k of another length cut", "argument_errors", before="k = k[:, :, : q.shape[2]]"),
    _mutant("all scores at once", "no_score_matrix", between="scores = q @ k.swapaxes(2, 3)"),
    _mutant("memory of the square", "memory_growth", between="square = bytearray(4 * q.shape[2] ** 2)"),
    _mutant("no tile skipped", "tile_skipping", between="causal and _planted_backward(do, cache, tile_size, False)"),
)  # fmt: skip
