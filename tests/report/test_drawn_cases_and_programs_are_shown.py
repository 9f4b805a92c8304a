"""Whoever reads a grade sees how many cases were drawn, where a fault begins, and the calls that lead there."""

import io

import pytest
import sample_records as sample
from rich.console import Console

from harness.model import Counterexample, Draws, Evidence, Outcome, Record, Threshold
from harness.report import formatting
from harness.report.exports.junit import junit
from tests.written import show, shown_markdown

PROGRAM = ("a = create_cache(max_batch=2, page_size=4)", "prefill(a, slots=[1], lengths=[5])", "decode(a, slots=[1])")
BEGINS = Threshold(axis="D", right_at=64, wrong_from=65, onward=True)


def record() -> Record:
    made = sample.record()
    failed = Evidence.of(
        sample.CHALLENGE.criterion("prefill_then_decode"), Outcome.FAILED, title="a decode is wrong",
        detail=f"{BEGINS}: out[0] is 2", draws=Draws(planned=60, tried=27, failed=3), thresholds=(BEGINS,), seed=7,
        counterexample=Counterexample(probe="any_program", case={"D": 65, "draw": 3}, program=PROGRAM),
    )  # fmt: skip
    evidence = [failed if e.criterion == failed.criterion else e for e in made.evidence]
    return made.model_copy(update={"evidence": tuple(evidence)})


def shown() -> str:
    out = io.StringIO()
    Console(file=out, width=200).print(show(sample.CHALLENGE, record()))
    return out.getvalue()


@pytest.mark.parametrize("text", [shown, lambda: shown_markdown(sample.CHALLENGE, record())], ids=["terminal", "md"])
def test_the_program_and_the_draws_are_there(text):
    page = text()
    assert all(call in page for call in PROGRAM)
    assert "right up to D = 64, wrong from D = 65 on" in page and "wrong in 3 of 27 drawn cases" in page


def test_a_ci_system_is_told_the_program():
    assert all(call in junit([record()]) for call in PROGRAM)


def test_a_pass_says_how_rare_a_fault_it_could_have_missed():
    assert formatting.draws(Draws(planned=120, tried=120)) == (
        "120 drawn cases right (a fault in 2.5 % of such cases would be missed once in 20 times)"
    )
    words = formatting.draws(Draws(planned=120, tried=30))
    assert words.startswith("30 drawn cases right, 90 more not tried (a fault in 9.5 % ")
