"""The bundled right kernel passes every probe on the emulated device, and its figures are the ones it states."""

import pytest

from harness.languages import AnswerFiles
from harness.model import Evidence, Outcome
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.submissions.opening import open_answer
from harness.sandbox import snapshot
from tests import shares
from tests.checkout import WORKSPACE, code_of

CODE = code_of("fused_softmax_topk")
PLACE = WORKSPACE.root / "submissions" / "baseline" / CODE.challenge.id
SUBMISSION = WORKSPACE.submission(PLACE)
SEED = 20


@pytest.fixture(scope="module")
def evidence() -> dict[str, Evidence]:
    """What the probes of every criterion see."""
    with snapshot(PLACE) as copy:
        files = AnswerFiles(copy.path, SUBMISSION.entries, SUBMISSION.capabilities)
        with open_answer(CODE.challenge, files) as result:
            assert result.answer is not None, result.unsupported or result.fault
            probed = [c for c in CODE.challenge.criteria if c.probes]
            share = shares.drawn_cases()
            return {c.id: probe_criterion(CODE, c, result.answer, seed_of(SEED, c.id), share=share) for c in probed}


def test_every_probe_passes(evidence: dict[str, Evidence]) -> None:
    missed = {e.criterion: e.detail for e in evidence.values() if e.outcome is not Outcome.PASSED}
    assert missed == {"speed": "time is not emulated: this needs a GPU"}


def test_the_logits_are_read_once_to_the_byte(evidence: dict[str, Evidence]) -> None:
    measured = evidence["passes"].measured
    assert measured["global_read_passes"] == 1.0
    assert measured["bytes_read_per_row"] == 4 * 50257


def test_only_the_outputs_are_written(evidence: dict[str, Evidence]) -> None:
    """k = 50: a probability and a column of 4 bytes each."""
    assert evidence["bytes_written"].measured["bytes_written_per_row"] == 8 * 50
    assert evidence["no_intermediate"].measured["scratch_bytes"] == 0


def test_loads_share_lines_whatever_the_rows_alignment(evidence: dict[str, Evidence]) -> None:
    """Every load of a warp is one aligned line of 4 sectors; only the two ends of a row take part of one."""
    ends = 2 / (4 * 50257 / 32)
    assert evidence["coalescing"].measured["load_sectors_over_ideal"] <= 1 + ends


def test_each_claim_that_is_measured_is_right(evidence: dict[str, Evidence]) -> None:
    """Within the 5 % that claims are granted."""
    measured = {name: figure for e in evidence.values() for name, figure in e.measured.items()}
    stated = {c.quantity: c.value for c in SUBMISSION.claims if c.quantity in measured}
    assert set(stated) == {"global_read_passes", "bytes_written_per_row", "naive_traffic_ratio"}
    assert stated == pytest.approx({name: measured[name] for name in stated}, rel=0.05)
