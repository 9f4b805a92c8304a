"""A benchmark that breaks a promise says which and exits with status 1; a figure that is NaN keeps none."""

import runpy
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
Promises = runpy.run_path(str(BENCHMARKS / "promises.py"))["Promises"]


def test_kept_promises_end_well(capsys: pytest.CaptureFixture[str]) -> None:
    promises = Promises()
    promises.at_most("slow-down", 6.0, 6, " x")
    promises.at_least("caught", 0.95, 0.9)
    promises.settle()
    assert capsys.readouterr().out.splitlines() == [
        "slow-down: 6 x   promised: at most 6 x", "caught: 0.95   promised: at least 0.9"
    ]  # fmt: skip


@pytest.mark.parametrize(("relation", "figure"), [("at_most", 6.1), ("at_least", 5.9), ("at_most", float("nan"))])
def test_a_broken_promise_is_named_and_is_status_1(
    relation: str, figure: float, capsys: pytest.CaptureFixture[str]
) -> None:
    promises = Promises()
    promises.at_most("kept", 1, 2)
    getattr(promises, relation)("slow-down", figure, 6, " x")
    with pytest.raises(SystemExit) as ended:
        promises.settle()
    assert isinstance(ended.value.code, str), "a text is printed, and the status is 1"
    assert "slow-down" in ended.value.code and "kept" not in ended.value.code
    assert capsys.readouterr().out.rstrip().endswith("BROKEN")


def test_whatever_promises_settles() -> None:
    """A script that states promises and never settles them would exit with 0 whatever it measures."""
    promising = [path for path in BENCHMARKS.glob("*.py") if "import Promises" in path.read_text(encoding="utf-8")]
    assert promising
    assert [path.name for path in promising if ".settle()" not in path.read_text(encoding="utf-8")] == []
