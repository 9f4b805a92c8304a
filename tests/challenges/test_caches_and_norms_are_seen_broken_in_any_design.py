"""A property of a cache or a layer norm that is broken around a right answer, however it works, fails its criterion."""

from pathlib import Path

import pytest

from harness.model import Outcome
from harness.probing.check import assess
from harness.probing.code import ChallengeCode
from harness.probing.local_answer import LocalAnswer
from harness.probing.mutants import module_of
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
SEED = 5
CACHE = """

import numpy as _np

_prefill, _decode, _release, _kept = prefill, decode, release, []
_latest = {{}}


def _given(cache, layer, v, lengths):
    _latest[id(cache), int(layer)] = cache, v[:1, :1, lengths[0] - 1 : lengths[0]].copy()


def prefill(cache, layer, slots, q, k, v, lengths):
    {prefill}
    _given(cache, layer, v, lengths)
    return out


def decode(cache, layer, slots, q, k, v):
    {decode}
    _given(cache, layer, v, [1])
    return out


def release(cache, slot):
    {release}
"""
NORM = """

import numpy as _np

_forward, _backward, _caches = forward, backward, []


def forward(x, gamma, beta, eps):
    {forward}
    return y, cache


def backward(dy, cache):
    {backward}
    return dx, dgamma, dbeta
"""
PLAIN = {
    "kv_cache": {
        "prefill": "out = _prefill(cache, layer, slots, q, k, v, lengths)",
        "decode": "out = _decode(cache, layer, slots, q, k, v)",
        "release": "_release(cache, slot)",
    },
    "layernorm_backward": {
        "forward": "y, cache = _forward(x, gamma, beta, eps)",
        "backward": "dx, dgamma, dbeta = _backward(dy, cache)",
    },
}
ROWS = "\n    for b, n in enumerate(lengths):\n        "
FROM_BELOW = (
    "\n    below = _latest.get((id(cache), int(layer) - 1))\n    out = out if below is None else out + below[1]"
)
ABOVE = (
    "rough = x.astype({1!r}).astype(x.dtype) if _np.abs(x).max() > {0} else x\n"
    "    y, cache = _forward(rough, gamma, beta, eps)"
)
FAULTS: dict[str, list[tuple[str, dict[str, str]]]] = {
    "kv_cache": [
        ("causality", {"prefill": "{}" + ROWS + "out[b, :, :n] += 0.1 * v[b, :1, n - 1 : n]"}),
        ("ragged_lengths", {"prefill": "{}" + ROWS + "out[b, :, :n] += 0.1 * v[b, :1, -1:] * (n < v.shape[2])"}),
        ("batch_isolation", {"decode": "{}\n    out = out + 0.1 * v[:1, :1] * (len(slots) > 1)"}),
        ("layer_isolation", {"prefill": "{}" + FROM_BELOW, "decode": "{}" + FROM_BELOW}),
        ("slot_reuse", {"release": "pass"}),
        ("slot_reuse", {"release": "for other in range(4):\n        _release(cache, other)"}),
        ("slots", {"decode": "out = _decode(cache, layer, _np.sort(slots), q, k, v)"}),
        ("memory_growth", {"prefill": "{}\n    _kept.extend([k.copy(), v.copy()])"}),
    ],
    "layernorm_backward": [
        ("scaling_laws", {"backward": "{}\n    dx = (dx * (1 + 1e-3 * _np.abs(dy).max())).astype(dy.dtype)"}),
        ("scaling_laws", {"forward": "y, cache = _forward(x, gamma, beta, 1e-3)"}),
        ("gamma_beta", {"forward": "{}\n    y = (y * (1 + 0.1 * beta)).astype(x.dtype)"}),
        ("gamma_beta", {"forward": "{}\n    y = (y + 0.1 * _np.arange(len(gamma))).astype(x.dtype)"}),
        ("cache_is_data", {
            "forward": "{}\n    _caches.append(cache)\n    cache = (len(_caches) - 1,)",
            "backward": "dx, dgamma, dbeta = _backward(dy, _caches[int(cache[0])])",
        }),
        ("offset_ladder_64", {"forward": ABOVE.format(1e3, "float32")}),
        ("offset_ladder_32", {"forward": ABOVE.format(90, "float16")}),
        ("extreme_scale", {"forward": "{}\n    y = y * y.dtype.type(1.01 if _np.abs(x).max() > 1e12 else 1)"}),
        ("own_pair_consistent", {"backward": "{}\n    dx = dx * dx.dtype.type(1.001)"}),
    ],
}  # fmt: skip
"""Faults by the criterion that they fail: what a function does in place of its plain call, which `{}` stands for."""
CASES = [(challenge, *fault) for challenge, faults in FAULTS.items() for fault in faults]


class AnswerInNewProcesses(LocalAnswer):
    """An answer that begins anew, as in a process of its own, where one is asked for."""

    def __init__(self, source: str) -> None:
        super().__init__(module_of("answer", source))
        self.source = source

    def fresh(self) -> None:
        super().fresh()
        self.module = self._modules["submission"] = module_of("answer", self.source)


def designs(code: ChallengeCode) -> list[str]:
    """Return the sources of right answers that share little: the reference and variants, files of their own first."""
    variants = sorted(code.variants, key=lambda variant: not variant.file)[:3]
    return [code.source(), *map(code.source, variants)]


@pytest.mark.parametrize(("challenge", "criterion", "fault"), CASES)
def test_a_broken_property_fails_its_criterion_in_any_design(
    challenge: str, criterion: str, fault: dict[str, str]
) -> None:
    code, plain = ChallengeCode(WORKSPACE, WORKSPACE.challenge(challenge)), PLAIN[challenge]
    parts = plain | {name: words.replace("{}", plain[name]) for name, words in fault.items()}
    around = {"kv_cache": CACHE, "layernorm_backward": NORM}[challenge].format(**parts)
    for source in designs(code):
        (found,) = assess(code, AnswerInNewProcesses(source + around), SEED, criterion)
        assert found.outcome is Outcome.FAILED and found.obstacle is None, (found, source[:80])
