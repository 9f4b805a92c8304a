"""How a wrong result comes about is not assessed, whatever is wrong: values, or outputs left unwritten or overrun."""

import pytest

from harness.probing.checked import require_same_work
from harness.probing.failures import NotMeasurable, ProbeFailure, WrongOutputs


def judge(run: int) -> None:
    if run != 1:
        raise ProbeFailure("values are wrong")


def raising(failure: ProbeFailure):
    def run() -> int:
        raise failure

    return run


UNWRITTEN = WrongOutputs("rows are never written")


def test_a_right_run_is_returned():
    assert require_same_work(judge, lambda: 1, lambda: 1) == 1


@pytest.mark.parametrize("run", [lambda: 2, raising(UNWRITTEN)], ids=["values", "unwritten"])
def test_what_is_wrong_in_either_run_is_not_assessed(run):
    with pytest.raises(NotMeasurable, match="the result is wrong here"):
        require_same_work(judge, run, run)


@pytest.mark.parametrize("run", [lambda: 2, raising(UNWRITTEN)], ids=["values", "unwritten"])
def test_what_is_wrong_under_watch_alone_is_a_fault(run):
    with pytest.raises(ProbeFailure, match="does other work"):
        require_same_work(judge, run, lambda: 1)


def test_a_refused_call_is_a_fault():
    with pytest.raises(ProbeFailure, match="refused"):
        require_same_work(judge, raising(ProbeFailure("a legal call is refused")), lambda: 1)
