"""Attention that cannot count tens of thousands of keys is seen where few queries look at them, and named by these."""

from pathlib import Path

import pytest

from harness.probing import Mutant
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.challenge_code.mutants import module_of
from harness.probing.probe import run
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
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


@pytest.mark.parametrize(("width", "most"), [("int16", "32,768"), ("uint16", "65,536")])
@pytest.mark.parametrize(("challenge", "mask"), [(name, mask) for name, masks in MASKS.items() for mask in masks])
def test_a_mask_that_counts_in_two_bytes_is_named_by_the_keys(challenge: str, mask: str, width: str, most: str) -> None:
    code = ChallengeCode(WORKSPACE, WORKSPACE.challenge(challenge))
    edits = ((mask.format(KEYS), mask.format(f"{KEYS}.astype(np.{width})")),)
    narrow = code.source(Mutant("narrow", "counts in two bytes", criterion="fewer_queries", edits=edits))
    found = run(code.probes[PROBE], LocalAnswer(module_of("narrow", narrow)), 7, shrink=False)
    assert not found.passed and found.title.endswith(
        f"is wrong where there are fewer queries than keys, more than {most}"
    )
