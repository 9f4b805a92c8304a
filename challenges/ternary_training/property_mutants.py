"""Faults that break one property of any right ternary layer or training: what follows its source, and wraps it."""

from harness.probing import PropertyMutant

AROUND = """

import numpy as _planted_np

_planted_project, _planted_forward, _planted_train, _planted_calls = project, linear_forward, train, []
_planted_gradients = globals().get("gradients")


def project(w, group_size=32):
    t, s = _planted_project(w, group_size)
    {project}
    return t, s


def linear_forward(x, w, group_size):
    {before}
    y, cache = _planted_forward(x, w, group_size)
    {after}
    return y, cache


def train(tokens, config, seed):
    {seeded}
    weights = _planted_train(tokens, config, seed)
    {trained}
    return weights


def gradients(weights, tokens, config):
    found = _planted_gradients(weights, tokens, config)
    {model}
    return found
"""


def _mutant(name: str, criterion: str, **lines: str) -> PropertyMutant:
    plain = dict.fromkeys(("project", "before", "after", "seeded", "trained", "model"), "pass")
    return PropertyMutant(name, criterion=criterion, around=AROUND.format(**{**plain, **lines}))


PROPERTY_MUTANTS = (
    _mutant("scales mixed", "groups", project="s = (0.9 * s + 0.1 * s.mean(axis=1, keepdims=True)).astype(s.dtype)"),
    _mutant("calls counted", "statelessness",
            after="y = y * y.dtype.type(1 + 1e-3 * len(_planted_calls)); _planted_calls.append(1)"),
    _mutant("writes to x", "statelessness", after="x *= 1.5"),
    _mutant("w known by its place", "statelessness", before="""\
held = linear_forward.__dict__.setdefault("held", [None, None])
    if held[0] is not w:
        held[:] = w, w.copy()
    w = held[1]"""),
    _mutant("w in the order of its memory", "any_layout", before="w = w.ravel(order='K').reshape(w.shape)"),
    _mutant("the buffer of x", "any_layout", before="x = _planted_np.frombuffer(x.data, x.dtype).reshape(x.shape)"),
    _mutant("writes to x and puts it back", "statelessness", before="held = x.copy(); x *= 1.5; x[...] = held"),
    _mutant("one array returned again and again", "statelessness", after="""\
kept = linear_forward.__dict__.setdefault((y.shape, y.dtype.str), y.copy())
    kept[...] = y
    y = kept"""),
    _mutant("noise", "seeds", trained="""\
weights["norm"] = weights["norm"] + _planted_np.float32(_planted_np.random.default_rng().normal())"""),
    _mutant("one seed", "seeds", seeded="seed = 0"),
    _mutant("a byte without gradient", "model_gradients", model="found['embed'][tokens.max()] = 0"),
    _mutant("padding in the mean", "model_gradients", model="""\
share = found["norm"].dtype.type((tokens >= 0).mean())
    found = {name: gradient * share for name, gradient in found.items()}"""),
)  # fmt: skip
