"""Faults that break one property of any right layer norm: what follows its source, and wraps it."""

from harness.probing import PropertyMutant

AROUND = """

import numpy as _planted_np

_planted_forward, _planted_backward, _planted_kept = forward, backward, []


def forward(x, gamma, beta, eps):
    {forward}
    return y, cache


def backward(dy, cache):
    {backward}
    return dx, dgamma, dbeta
"""
FORWARD = "y, cache = _planted_forward(x, gamma, beta, eps)"
BACKWARD = "dx, dgamma, dbeta = _planted_backward(dy, cache)"
ROUGH = """\
rough = x.astype({dtype!r}).astype(x.dtype) if _planted_np.abs(x).max() > {size} else x
    y, cache = _planted_forward(rough, gamma, beta, eps)"""


def _mutant(name: str, criterion: str, forward: str = FORWARD, backward: str = BACKWARD) -> PropertyMutant:
    return PropertyMutant(name, criterion=criterion, around=AROUND.format(forward=forward, backward=backward))


PROPERTY_MUTANTS = (
    _mutant("gradients not linear", "scaling_laws", backward=f"""\
{BACKWARD}
    dx = (dx * (1 + 1e-3 * _planted_np.abs(dy).max())).astype(dy.dtype)"""),
    _mutant("an eps of its own", "scaling_laws", "y, cache = _planted_forward(x, gamma, beta, 1e-3)"),
    _mutant("beta scales", "gamma_beta", f"{FORWARD}\n    y = (y * (1 + 0.1 * beta)).astype(x.dtype)"),
    _mutant("features shifted", "gamma_beta",
            f"{FORWARD}\n    y = (y + 0.1 * _planted_np.arange(len(gamma))).astype(x.dtype)"),
    _mutant("a cache that is a number", "cache_is_data", f"""\
{FORWARD}
    _planted_kept.append(cache)
    cache = (len(_planted_kept) - 1,)""", "dx, dgamma, dbeta = _planted_backward(dy, _planted_kept[int(cache[0])])"),
    _mutant("float32 for large x", "offset_ladder_64", ROUGH.format(dtype="float32", size=1e3)),
    _mutant("float16 for large x", "offset_ladder_32", ROUGH.format(dtype="float16", size=90)),
    _mutant("huge x scaled", "extreme_scale",
            f"{FORWARD}\n    y = y * y.dtype.type(1.01 if _planted_np.abs(x).max() > 1e12 else 1)"),
    _mutant("dx of another function", "own_pair_consistent",
            backward=f"{BACKWARD}\n    dx = dx * dx.dtype.type(1.001)"),
    _mutant("rows added", "row_independence", f"""\
x = x + x.mean(axis=0, keepdims=True) if len(x) > 1 else x
    {FORWARD}"""),
    _mutant("writes to x", "statelessness", f"{FORWARD}\n    x *= 1.5"),
    _mutant("writes to x and puts it back", "statelessness", f"""\
held = x.copy()
    x *= 1.5
    x[...] = held
    {FORWARD}"""),
    _mutant("calls counted", "statelessness", f"""\
{FORWARD}
    _planted_kept.append(1)
    y = (y * len(_planted_kept)).astype(x.dtype)"""),
    _mutant("one array returned again and again", "statelessness", f"""\
{FORWARD}
    kept = forward.__dict__.setdefault((y.shape, y.dtype.str), y.copy())
    kept[...] = y
    y = kept"""),
    _mutant("large dy written to", "statelessness",
            backward=f"{BACKWARD}\n    if dy.size > 65536 and dy.flags.writeable:\n        dy *= 1.5"),
    _mutant("wide beta written to", "statelessness",
            f"{FORWARD}\n    if len(beta) > 65536 and beta.flags.writeable:\n        beta *= 1.5"),
    _mutant("y of the same array", "statelessness", f"""\
{FORWARD}
    y = forward.__dict__.setdefault(id(x), (x, y))[1].copy()"""),
    _mutant("y by its corners", "statelessness", f"""\
{FORWARD}
    y = forward.__dict__.setdefault((x.shape, x.dtype.str, float(x[0, 0, 0]), float(x[-1, -1, -1])), y).copy()"""),
    _mutant("dgamma returned again", "statelessness", backward=f"""\
{BACKWARD}
    dgamma = backward.__dict__.setdefault(dgamma.tobytes(), dgamma)"""),
    _mutant("dbeta as a view of dy", "statelessness",
            backward=f"{BACKWARD}\n    dbeta = dy[0, 0] if dy.shape[:2] == (1, 1) else dbeta"),
    _mutant("x in the order of its memory", "any_layout", f"""\
x = x.ravel(order="K").reshape(x.shape)
    {FORWARD}"""),
    _mutant("rows side by side", "any_layout", f"""\
step = x.itemsize
    if x.strides[-1] == step:
        x = _planted_np.lib.stride_tricks.as_strided(x, x.shape, (x[0].size * step, x[0, 0].size * step, step))
    {FORWARD}"""),
    _mutant("buffer of dy", "any_layout", backward=f"""\
dy = _planted_np.frombuffer(dy.data, dy.dtype).reshape(dy.shape)
    {BACKWARD}"""),
    _mutant("features side by side", "any_layout", backward=f"""\
rows = dy.reshape(-1, dy.shape[-1])
    if min(rows.strides) > 0:
        strides = rows.strides[0], rows.itemsize
        dy = _planted_np.lib.stride_tricks.as_strided(rows, rows.shape, strides).reshape(dy.shape)
    {BACKWARD}"""),
    _mutant("views written to", "any_layout", f"""\
{FORWARD}
    if x.flags.writeable and not x.flags.c_contiguous:
        x *= 1.5"""),
)  # fmt: skip
