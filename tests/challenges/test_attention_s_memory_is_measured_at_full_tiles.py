"""Memory is measured at lengths of whole tiles, whatever a last one of one row does; double precision is no fault."""

import re
from pathlib import Path

import pytest

from harness.model import Outcome
from harness.probing.check import sandboxed
from harness.probing.code import ChallengeCode
from harness.probing.criteria import probe_criterion
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
CHECKED = "    _check_arguments(q, k, v, tile_size)\n"
ONE_ROW = f"{CHECKED}    if q.shape[2] % tile_size == 1:\n        raise IndexError('a tile of one row')\n"


@pytest.mark.parametrize("criterion", ["no_score_matrix", "memory_growth"])
@pytest.mark.parametrize("challenge", ["flash_attention", "flash_attention_backward"])
def test_a_fault_at_one_row_tiles_leaves_memory_to_be_measured(challenge: str, criterion: str) -> None:
    code = ChallengeCode(WORKSPACE, WORKSPACE.challenge(challenge))
    assert code.source().count(CHECKED) == 1
    with sandboxed(code, code.source().replace(CHECKED, ONE_ROW)) as answer:
        evidence = probe_criterion(code, code.challenge.criterion(criterion), answer, 1, explain=False)
    assert evidence.outcome is Outcome.PASSED and evidence.measured, evidence


@pytest.mark.parametrize(("challenge", "arrays"), [("flash_attention", 7), ("flash_attention_backward", 8)])
def test_work_in_double_precision_is_no_array_of_all_scores(challenge: str, arrays: int) -> None:
    """An answer may hold so many float64 arrays: over a fifth of a float32 matrix, under a fifth of a float64 one."""
    code = ChallengeCode(WORKSPACE, WORKSPACE.challenge(challenge))
    double = code.source(next(variant for variant in code.variants if variant.name == "double inside"))
    held = re.sub(
        r"\n    return (o|dq, dk, dv)\b", rf"\n    held = np.ones(({arrays}, *q.shape)); held += 1\g<0>", double
    )
    assert held != double
    with sandboxed(code, held) as answer:
        evidence = probe_criterion(code, code.challenge.criterion("no_score_matrix"), answer, 1, explain=False)
    assert evidence.outcome is Outcome.PASSED, evidence
    assert evidence.measured["memory_share"] > 0.2
