"""`harness show` tells a whole record in plain lines when nobody watches, and still fits a narrow terminal."""

import io

import pytest
import sample_records as sample
from rich.console import Console

from harness.model import Location, Observation, Outcome
from tests.written import show


def told(record, **options) -> str:
    out = io.StringIO()
    Console(file=out, **{"width": 200, "force_terminal": False} | options).print(show(sample.CHALLENGE, record))
    return out.getvalue()


def test_everything_a_reader_asks_for_is_there():
    text = told(sample.record(remarks=("imports ctypes",)))
    for words in (
        "glm-5/kv_cache",
        "Provenance: reconstruction",
        "Overall: 49 [40, 53], 87 % assessed",
        "- Overall at most 55.67 (59 less 10 times the 33.3 % not met of the critical weight assessed): a critical "
        "criterion failed: causality",
        f"1. {sample.FUTURE['title']} (critical: causality)",
        f"Likeliest fault: {sample.FUTURE['diagnosis'].words}",
        "Smallest failing input found: B = 1, H = 1, S = 2, D = 1, probe causality",
        "At: out[0, 0, 0, 1]: expected 0.25, got 0.518",
        "Run it again: harness replay glm-5/kv_cache causality",
        "Not assessed: needs a review: readability, gpu_plan",
        "imports ctypes",
        "tier B, device cpu",
        "seed 20260422",
    ):
        assert words in text


def test_unassessed_dimensions_show_no_number():
    (line,) = [line for line in told(sample.record()).splitlines() if line.startswith("GPU mapping")]
    assert line.split() == ["GPU", "mapping", "0.5", "not", "assessed"]


def test_every_criterion_has_a_line_with_its_figures():
    lines = told(sample.record()).split("Every criterion\n")[1].split("Without credit")[0].splitlines()
    for item in sample.record().evidence:
        assert any(line.startswith(f"{item.criterion} ") and item.severity in line for line in lines)
    assert any(
        line.split() == ["prefill_then_decode", "critical", "passed", "error", "ratio", "1.19"] for line in lines
    )


@pytest.mark.parametrize("record", [sample.record(), sample.baseline(), sample.unbuilt()], ids=lambda r: r.model)
def test_a_file_gets_ascii_free_of_colour_and_frames(record):
    assert told(record).isascii()


def test_a_narrow_terminal_loses_no_word():
    narrow = "".join(told(sample.record(), width=60).split())
    assert "harnessreplayglm-5/kv_cachecausality" in narrow
    assert "".join(sample.FUTURE["diagnosis"].words.split()) in narrow


def test_a_finding_says_which_lines_it_is_about():
    places = tuple(Location(file="answer.py", line=line) for line in range(1, 8))
    text = told(sample.changed(sample.record(), "causality", locations=places[:1]))
    assert "In: answer.py:1\n" in text
    text = told(sample.changed(sample.record(), "causality", locations=places))
    assert "In: answer.py:1, answer.py:2, answer.py:3, answer.py:4, answer.py:5, 2 more in the record" in text


def test_what_further_probes_saw_has_a_line_of_its_own():
    also = (Observation(title="a"), Observation(title="b"))
    lines = [line.strip() for line in told(sample.changed(sample.record(), "causality", also=also)).splitlines()]
    assert lines[(first := lines.index("Also: a")) + 1] == "Also: b"
    assert lines[first - 1].startswith("Seen: ")


def test_what_a_compiler_said_in_lines_is_told_apart():
    said = "a.cu:1: x is undefined\na.cu:2: y is undefined"
    failed = {"outcome": Outcome.FAILED, "detail": said}
    assert "Seen: a.cu:1: x is undefined; a.cu:2: y is undefined" in told(
        sample.record(outcomes=sample.RIGHT | {"shapes": failed})
    )


def test_our_own_failure_is_called_ours():
    text = told(sample.record(status="judge_error", error="BoxError: gone"))
    assert "Status: could not be graded" in text
    assert "the harness failed, which counts neither for nor against it:\n  BoxError: gone" in text
