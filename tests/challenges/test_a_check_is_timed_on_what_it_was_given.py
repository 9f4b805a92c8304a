"""A gradient check that differences less than it was given has no time there, and passes nothing by it."""

import pytest

from harness.model import Outcome
from harness.mutation.checks.check import assess, open_in_sandbox
from harness.probing import Mutant
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.probe import run
from tests.checkout import code_of

CODE = code_of("layernorm_backward")
VERDICT = "    x, gamma, beta, dy = (np.array(values, dtype=np.float64) for values in (x, gamma, beta, dy))\n"


def speed_of(source: str):
    with open_in_sandbox(CODE, source) as answer:
        (evidence,) = assess(CODE, answer, 7, "check_speed")
    return evidence


def test_a_check_of_a_corner_is_not_timed() -> None:
    corner = CODE.source().replace(VERDICT, VERDICT + "    x, dy = x[:1, :2], dy[:1, :2]\n")
    seen = speed_of(corner)
    assert seen.outcome is Outcome.NOT_RUN
    assert seen.detail == "no call of forward within the check has 32,768 elements; the largest has 256"


def test_a_check_of_everything_is_timed() -> None:
    seen = speed_of(CODE.source())
    assert seen.outcome is Outcome.PASSED
    assert 0 < seen.measured["check_seconds_524288_elements"] < 10


def behind(statement: str) -> str:
    """The reference, whose check begins with `statement`."""
    return CODE.source().replace(VERDICT, VERDICT + f"    {statement}\n")


def test_a_check_that_calls_no_forward_is_not_timed() -> None:
    assert speed_of(behind("return True")).outcome is Outcome.NOT_RUN


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check may take 0.3 s."""
    probe = CODE.probes["the_check_is_of_use_at_real_sizes"]
    monkeypatch.setitem(probe.body.__globals__, "SIZES", (((8, 32, 128), 0.3),))


@pytest.mark.usefixtures("short")
def test_a_slow_check_is_stopped_and_the_passes_told_are_those_it_made() -> None:
    seen = speed_of(behind("while True: forward(x, gamma, beta, eps)"))
    assert (seen.outcome, seen.title) == (Outcome.FAILED, "the check takes longer than 0.3 s at (8, 32, 128)")
    passes = int(seen.detail.split("it ran ")[1].split(" forward")[0].replace(",", ""))
    assert 1 <= passes < 10_000  # one takes 30 us and more


@pytest.mark.usefixtures("short")
def test_a_check_that_waits_is_not_called_slow() -> None:
    """As one that a busy machine keeps waiting: only the processor's clock tells."""
    seen = speed_of(behind("import time; time.sleep(60)"))
    assert (seen.outcome, seen.measured) == (Outcome.NOT_RUN, {})


@pytest.mark.usefixtures("short")
def test_a_slow_check_is_judged_by_small_pairs_alone() -> None:
    slow = Mutant(
        "slow",
        "takes too long",
        criterion="check_speed",
        edits=((VERDICT, VERDICT + "    while x.size > 4096: forward(x, gamma, beta, eps)\n"),),
    )
    found = run(CODE.probes["wrong_pairs_of_a_real_size_are_rejected"], LocalAnswer(CODE.import_source(slow)), 7)
    assert (found.fraction, found.figures) == (1, {"real_size_faults_tried": 0})


def test_a_check_of_some_rows_is_told_what_it_accepts_at_a_real_size() -> None:
    call = "    dx_agrees = _rows_agree("
    few = "    x, dy, dx = (values.reshape(1, -1, x.shape[-1])[:, :16] for values in (x, dy, dx))\n"
    some = Mutant("16 rows", "compares few", criterion="catches_planted", edits=((call, few + call),))
    found = run(CODE.probes["wrong_pairs_of_a_real_size_are_rejected"], LocalAnswer(CODE.import_source(some)), 7)
    seen = "rejects 2 of 4 wrong pairs at (8, 32, 128); accepts dx_element_negated, dx_row_half_more"
    assert (found.fraction, found.detail) == (0.5, seen)
