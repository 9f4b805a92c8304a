"""Memory is measured at lengths of whole tiles: a fault of a last tile of one row stands in the way of no figure."""

import pytest

from harness.model import Outcome
from harness.mutation.checks.check import open_in_sandbox
from harness.probing.evidence.criteria import probe_criterion
from tests.checkout import code_of

CHECKED = "    _check_arguments(q, k, v, tile_size)\n"
ONE_ROW = f"{CHECKED}    if q.shape[2] % tile_size == 1:\n        raise IndexError('a tile of one row')\n"


@pytest.mark.parametrize("criterion", ["no_score_matrix", "memory_growth"])
@pytest.mark.parametrize("challenge", ["flash_attention", "flash_attention_backward"])
def test_a_fault_at_one_row_tiles_leaves_memory_to_be_measured(challenge: str, criterion: str) -> None:
    code = code_of(challenge)
    assert code.source().count(CHECKED) == 1
    with open_in_sandbox(code, code.source().replace(CHECKED, ONE_ROW)) as answer:
        evidence = probe_criterion(code, code.challenge.criterion(criterion), answer, 1, explain=False)
    assert evidence.outcome is Outcome.PASSED and evidence.measured, evidence
