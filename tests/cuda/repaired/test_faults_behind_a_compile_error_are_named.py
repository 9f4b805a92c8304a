"""With what stops the compiler repaired, the bundled answers fail for the faults behind it, and these are named."""

from pathlib import Path
from typing import NamedTuple

import pytest
from repairs import (
    GLM_COMPILES,
    GLM_ONE_WARP,
    MINIMAX_COMPILES,
    MINIMAX_IN_BOUNDS,
    MINIMAX_SERVES_EVERY_K,
    QWEN_COMPILES,
    QWEN_DIVIDES,
    QWEN_SHORT_LISTS,
    QWEN_SWAPS,
    Repair,
    repaired,
)

from harness.languages import AnswerFiles
from harness.model import Criterion, Evidence, Outcome, Severity
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.submissions.opening import open_answer
from tests.checkout import code_of

CODE = code_of("fused_softmax_topk")
SEED = 20
SOURCE = "fused_softmax_topk.cu:"
MAX_K = {"minimax-m2.7": 100, "glm-5": 32, "qwen3.6-27b": 256}
"""What each answer claims."""


class Fault(NamedTuple):
    """What a repaired answer fails: the criterion, words of its title and detail, and of its diagnosis or place."""

    repair: Repair
    criterion: str
    said: str
    named: str


FAULTS = {
    # 32 slots are reduced where 8 are written, and 256 entries read from an array of k
    "minimax reads uninitialised memory": Fault(MINIMAX_COMPILES, "memory_safety", "uninitialised memory", SOURCE),
    # rows are 10, 50 or 100 entries long, whatever k is
    "minimax writes into the next row": Fault(MINIMAX_COMPILES, "values", "writes outside probs", ""),
    "minimax writes beside the outputs": Fault(MINIMAX_IN_BOUNDS, "memory_safety", "out of bounds", SOURCE),
    # thread i gives its own i-th best: a winner is safe in thread 0 only
    "minimax loses winners": Fault(
        MINIMAX_SERVES_EVERY_K, "selection", "left out", "columns c with c mod 256 != 0 are lost"
    ),
    # eight warps own a row each, one writes
    "glm writes every eighth row": Fault(GLM_COMPILES, "rows", "rows are never written", "rows r with r mod 8 != 0"),
    # lane l gives its own l-th best
    "glm loses winners": Fault(GLM_ONE_WARP, "selection", "left out", "columns c with c mod 32 != 0 are lost"),
    "qwen loses in the heap": Fault(QWEN_COMPILES, "selection", "a column is named twice", ""),
    "qwen loses in the heap alone": Fault(QWEN_DIVIDES, "selection", "a column is named twice", ""),
    "qwen divides by 32": Fault(QWEN_SWAPS, "values", "error ratio", "every probability is 1/32 of the right one"),
    "qwen keeps 16": Fault(QWEN_SHORT_LISTS, "selection", "left out", "winners 256 columns apart only 16 are found"),
}


def probed(repair: Repair, criterion: Criterion, folder: Path) -> Evidence:
    """What a criterion's probes see of a repaired answer."""
    with repaired(repair, folder) as files:
        answer = AnswerFiles(files.path, ["adapter.cu"], {"max_k": MAX_K[repair.model]})
        with open_answer(CODE.challenge, answer) as result:
            assert result.answer is not None, result.unsupported or result.fault
            return probe_criterion(CODE, criterion, result.answer, seed_of(SEED, criterion.id), explain=False)


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_found_and_named(tmp_path: Path, name: str) -> None:
    fault = FAULTS[name]
    criterion = next(c for c in CODE.challenge.criteria if c.id == fault.criterion)
    evidence = probed(fault.repair, criterion, tmp_path)
    assert evidence.outcome is Outcome.FAILED
    assert fault.said in evidence.seen
    places = (f"{place.file}:{place.line}" for place in evidence.locations)
    assert any(fault.named in words for words in (evidence.diagnosis.words if evidence.diagnosis else "", *places))


def test_with_three_repairs_qwen_is_right_on_ordinary_rows(tmp_path: Path) -> None:
    """Denominator and swap were the faults: at k = 16 and k = 256 random rows come out exact."""
    ordinary = Criterion(
        id="ordinary", dimension="correctness", severity=Severity.CRITICAL, title="Ordinary rows come out right",
        probes=("probabilities_match_the_oracle", "no_logit_left_out_is_larger"),
    )  # fmt: skip
    evidence = probed(QWEN_SHORT_LISTS, ordinary, tmp_path)
    assert evidence.outcome is Outcome.PASSED, evidence.seen
