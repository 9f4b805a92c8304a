"""Attention of few queries is judged at tens of thousands of keys, and at thousands of heads of many features."""

import pytest

from harness.probing import Mutant
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.challenge_code.mutants import module_of
from harness.probing.probe import ProbeResult, run
from tests.checkout import code_of

PROBE = "fewer_queries_see_the_last_keys"
KEYS = "np.arange(start, stop)"
MASKS = {
    "flash_attention": ("            hidden = {} > np.arange(first, last)[:, None]\n",),
    "flash_attention_backward": (
        "            scores[:, :, {} > np.arange(first, last)[:, None]] = -np.inf\n",
        "                hidden = {} > np.arange(first, last)[:, None] + ahead\n",
    ),
}
"""Lines of the references that hide keys, by pass."""
LAST = {"flash_attention": "    return o\n", "flash_attention_backward": "    return dq, dk, dv\n"}


@pytest.mark.parametrize(("width", "most"), [("int16", "32,768"), ("uint16", "65,536")])
@pytest.mark.parametrize(("challenge", "mask"), [(name, mask) for name, masks in MASKS.items() for mask in masks])
def test_a_mask_that_counts_in_two_bytes_is_named_by_the_keys(challenge: str, mask: str, width: str, most: str) -> None:
    found = judged(challenge, (mask.format(KEYS), mask.format(f"{KEYS}.astype(np.{width})")))
    assert not found.passed and found.title.endswith(
        f"is wrong where there are fewer queries than keys, with 65,537 keys and not with {most}"
    )


@pytest.mark.parametrize(("keys", "probe"), [(2, PROBE), (1, "any_large_batch_is_right")])
@pytest.mark.parametrize(("challenge", "line"), LAST.items())
def test_wide_single_queries_of_many_heads_are_judged(challenge: str, line: str, keys: int, probe: str) -> None:
    name = line.split()[-1]
    met = f"q.shape[2] == 1 and k.shape[2] == {keys} and q.shape[0] * q.shape[1] >= 2048"
    found = judged(challenge, (line, f"    if {met}:\n        {name}[..., 128:] = 0\n{line}"), probe)
    assert not found.passed and found.obstacle is None and "is wrong" in found.title


def judged(challenge: str, edit: tuple[str, str], probe: str = PROBE) -> ProbeResult:
    """Return what a probe finds of a reference that one edit spoils."""
    code = code_of(challenge)
    spoilt = Mutant("spoilt", "is wrong for few queries", criterion="fewer_queries", edits=(edit,))
    return run(code.probes[probe], LocalAnswer(module_of("spoilt", code.source(spoilt))), 7, shrink=False)
