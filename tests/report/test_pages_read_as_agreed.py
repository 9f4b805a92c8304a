"""What every page and command prints, word for word: one file each under `golden`, and nothing elsewhere pins wording.

`GOLDEN_WRITE=1 pytest tests/report/test_pages_read_as_agreed.py` writes the files anew, for a reader to look through.
"""

import io
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import sample_records as sample
from rich.console import Console

from harness.model import Location, Mark, Outcome, Provenance, Review, Reviewer, Round
from harness.report import formats
from harness.report.pages import render_all
from harness.report.results import board_result, comparison_result, record_result
from harness.report.views.board.scoreboard import scoreboard
from harness.report.views.comparison import compare
from harness.report.views.inputs import ReportInputs
from harness.report.views.mark_source import MarkSource
from harness.report.writers import result

GOLDEN = Path(__file__).with_name("golden")
PARTLY = sample.RIGHT | {"shapes": {"outcome": Outcome.PARTIAL, "fraction": 0.5, "detail": "sizes of 1 are refused"}}
WRONG = sample.changed(sample.record(), "causality", locations=Location.within("answer.py", 2))
RECORDS = [
    WRONG,
    sample.record("good", PARTLY, provenance=Provenance.MODEL_OUTPUT),
    sample.unbuilt(),
    sample.baseline(),
]
REVIEW = Review(
    model="glm-5", challenge="kv_cache", overall=91, marks=(Mark(target="correctness", mark=95, remark="Reads well."),),
    reviewer=Reviewer(kind="published", id="round-1", date="2026-04"),
)  # fmt: skip
INPUTS = ReportInputs(
    [sample.CHALLENGE], RECORDS, [REVIEW], sources={"glm-5/kv_cache": {"answer.py": "one\ntwo\nthree"}},
    rounds=[Round(id="r", title="A round", models=("glm-5", "good"), challenges=("kv_cache",))],
)  # fmt: skip


def on_a_terminal(shown: formats.Result, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(formats.write(shown, "table"))
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


def words_of_the_page() -> str:
    """The page without style and script, one element a line."""
    page = render_all(INPUTS)["index.html"]
    return re.sub(r"(?s)<style>.*?</style>|<script.*?</script>|sha256-[\w+/=]+", "", page)


SHOWN = record_result(sample.CHALLENGE, WRONG)
COMPARED = comparison_result(compare([sample.CHALLENGE], RECORDS, "glm-5", "good"))
PAGES: dict[str, Callable[[], str]] = {
    **{f"show-{width}.txt": lambda width=width: on_a_terminal(SHOWN, width) for width in (80, 120, 200)},
    "show-unbuilt-80.txt": lambda: on_a_terminal(record_result(sample.CHALLENGE, sample.unbuilt()), 80),
    "show.md": lambda: str(formats.write(SHOWN, "md")),
    "show.html": lambda: str(formats.write(SHOWN, "html")),
    "compare-80.txt": lambda: on_a_terminal(COMPARED, 80),
    "compare.md": lambda: str(formats.write(COMPARED, "md")),
    "scoreboard-80.txt": lambda: on_a_terminal(board_result(scoreboard(INPUTS)), 80),
    "junit.xml": lambda: formats.write_records(INPUTS, "junit"),
    "sarif.json": lambda: formats.write_records(INPUTS, "sarif"),
    **{
        name.replace("/", "-"): lambda name=name: render_all(INPUTS)[name]
        for name in ("scoreboard.md", "kv_cache.md", "head_to_head/glm-5_vs_good.md", "rounds/r.md",
                     "published_vs_measured.md", "scoreboard.svg")
    },
    "published-scoreboard.md": lambda: render_all(INPUTS, MarkSource.PUBLISHED)["scoreboard.md"],
    "index.html": words_of_the_page,
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_a_page_reads_as_agreed(name: str) -> None:
    made = PAGES[name]()
    if os.environ.get("GOLDEN_WRITE"):
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / name).write_text(made, encoding="utf-8")
    assert made == (GOLDEN / name).read_text(encoding="utf-8")


def test_no_golden_file_is_left_over() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == set(PAGES)


def test_a_format_is_one_entry_of_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command that writes results takes it; no other line of the package knows its name."""
    monkeypatch.setattr(result, "as_titles", lambda shown: "\t".join(shown.rows()[0]), raising=False)
    added = formats.ReportFormat("titles", "titles of columns", result="writers.result:as_titles")
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, added))
    assert str(formats.write(SHOWN, "titles")).startswith("criterion\tdimension")
    assert str(formats.write(COMPARED, "titles")).startswith("challenge\tcriterion")


def test_a_label_of_a_finding_is_in_every_format() -> None:
    """A field of evidence gets its label in one function, from which all formats take it."""
    for label in ("Likeliest fault", "Smallest failing input found", "Run it again", "Seen"):
        for name in ("show-80.txt", "show.md", "kv_cache.md", "index.html", "junit.xml", "sarif.json"):
            assert label in (GOLDEN / name).read_text(encoding="utf-8"), (label, name)
    sources = [path.read_text(encoding="utf-8") for path in Path(formats.__file__).parent.rglob("*.py")]
    assert sum("Smallest failing input found" in text for text in sources) == 1
    assert sum('"Run it again"' in text for text in sources) == 1
