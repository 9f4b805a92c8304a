"""What is printed fits 80 columns without cutting a word, and every format of a record says the same."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.cli.main import main
from harness.cli.results.scoreboard import SourceOption
from harness.report.document import table
from harness.report.exports.text import csv_text, storable
from harness.report.views.mark_source import MarkSource
from harness.report.writers import markdown
from harness.report.writers.terminal import ReflowingTable
from harness.workspace import Workspace

CHECKOUT = Workspace(Path(__file__).parents[2])
NAMES = sorted(r.name for r in CHECKOUT.records())
TABLES = (["scoreboard"], ["compare", "glm-5", "qwen3.6-27b"], *(["show", name] for name in NAMES))
Printed = Callable[..., str]


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Printed:
    """What a command prints at a width."""

    def run(*arguments: str, width: int = 80) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        assert main(list(arguments)) == 0
        return capsys.readouterr().out

    monkeypatch.setenv("HARNESS_WORKSPACE", str(CHECKOUT.root))
    return run


@pytest.mark.parametrize("arguments", TABLES, ids=" ".join)
def test_eighty_columns_cut_no_word(printed: Printed, arguments: list[str]) -> None:
    narrow = printed(*arguments)
    assert max(map(cell_len, narrow.splitlines())) <= 80
    # what heads a block goes without the title of its column, and so does a column that holds nothing
    lost = set(printed(*arguments, width=400).split()) - set(narrow.split())
    assert lost <= {"Rank", "Model", "Provenance", "Note", "Criterion", "Dimension", "Challenge", "Mark"}


def test_the_names_of_sources_are_those_of_the_reports() -> None:
    assert [(s.name, s.value) for s in SourceOption] == [(s.name, s.value) for s in MarkSource]


@pytest.mark.parametrize("width", [40, 60, 100, 120, 200])
def test_any_width_is_kept_to(printed: Printed, width: int) -> None:
    for arguments in (["scoreboard"], ["compare", "glm-5", "qwen3.6-27b"], ["show", "glm-5/kv_cache"]):
        assert max(map(cell_len, printed(*arguments, width=width).splitlines())) <= width


words = st.text(st.sampled_from("abcdefgh漢字"), min_size=1, max_size=8)
cells = st.lists(words, max_size=12).map(" ".join)


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 5), st.integers(20, 120))
def test_a_table_of_any_words_keeps_them_whole(data: st.DataObject, columns: int, width: int) -> None:
    rows = data.draw(st.lists(st.lists(cells, min_size=columns, max_size=columns), max_size=4))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number in range(columns):
        table.add_column(Text(f"t{number}"), overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    out = io.StringIO()
    Console(file=out, width=width).print(ReflowingTable(table))
    shown = out.getvalue()
    assert all(cell_len(line.rstrip()) <= width for line in shown.splitlines())
    found = shown.split()
    for word in (word for row in rows for cell in row for word in cell.split()):
        assert word in found


@pytest.mark.parametrize("terminal", [True, False])
def test_cells_that_fit_on_a_line_look_as_a_grid_lays_them_out(terminal: bool) -> None:
    """They take a way of their own, which is faster; a style without effect keeps cells off it."""
    cells = ["m", "94 [90, 97], 87 %", "漢字", "", "no record", "x" * 30]
    shown = []
    for style in ("", "none"):
        table = Table()
        for title in ("Model", "Layer norm", "宽 title", "Empty", "Note", "one-long-word-" * 3):
            table.add_column(Text(title))
        table.add_row(*(Text(cell, style=style) for cell in cells))
        out = io.StringIO()
        system: Literal["truecolor"] | None = "truecolor" if terminal else None
        Console(file=out, width=76, force_terminal=terminal, color_system=system).print(ReflowingTable(table))
        shown.append([line.rstrip() for line in out.getvalue().splitlines()])
    assert shown[0] == shown[1] and len(shown[0]) == 5


@pytest.mark.parametrize("name", NAMES)
def test_json_is_the_record_itself(printed: Printed, name: str) -> None:
    record = CHECKOUT.record(name)
    assert printed("show", name, "--format", "json") == printed("show", name, "--json")
    assert json.loads(printed("show", name, "--json")) == json.loads(record.to_json())


@pytest.mark.parametrize("name", NAMES)
def test_csv_has_a_line_for_each_criterion(printed: Printed, name: str) -> None:
    record = CHECKOUT.record(name)
    lines = list(csv.DictReader(io.StringIO(printed("show", name, "--format", "csv"))))
    assert [line["criterion"] for line in lines] == [e.criterion for e in record.evidence]
    faults = {f.criterion: f.title for f in record.findings}
    for line, item in zip(lines, record.evidence, strict=True):
        assert (line["outcome"], line["severity"]) == (item.outcome, item.severity)
        assert line["met"] == (str(item.satisfied) if item.outcome.assessed else "")
        assert line["fault"] == faults.get(item.criterion, "")
        figures = json.loads(line["figures"] or "{}")  # JSON has no infinity
        figures = {name: float("inf") if value == "Infinity" else value for name, value in figures.items()}
        assert figures == item.measured


@pytest.mark.parametrize("name", NAMES)
def test_markdown_names_every_criterion_and_fault(printed: Printed, name: str) -> None:
    record = CHECKOUT.record(name)
    page = printed("show", name, "--format", "md")
    rows = [
        line
        for line in page.partition("## Every criterion")[2].partition("\n#")[0].splitlines()
        if line.startswith("| ")
    ]
    named = {row.split(" | ")[0].removeprefix("| ").strip("`") for row in rows}
    beside = record.origin.not_asked if record.origin else {}
    assert named - {"Criterion"} == {e.criterion for e in record.evidence} - beside.keys()
    apart = page.partition("## Not asked, yet")[2] + page.partition("## Also seen, not asked")[2]
    assert all(f"* `{name}`: " in apart for name in beside if any(e.criterion == name for e in record.evidence))
    findings = page.partition("## Findings")[2].partition("## Every criterion")[0]
    for finding in record.findings:
        assert finding.criterion in findings


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_spreadsheet_takes_no_text_for_a_formula(cell: str) -> None:
    ((shown,), (number,)) = list(csv.reader(io.StringIO(csv_text(["x"], [[cell], [-1.5]]))))[1:]
    assert shown[0] not in "=+-@\t\r"
    assert number == "-1.5"


def test_a_cell_of_markdown_ends_no_row() -> None:
    page = markdown.render([table(["a", "b"], [["x | y\nz", "<b>"]])])
    assert page.splitlines()[2] == r"| x \| y z | &lt;b&gt; |"


def test_text_for_files_is_clipped_only_with_a_word_about_it() -> None:
    assert storable("a" * 10, 10) == "a" * 10
    assert storable("a" * 2010, 10) == "a" * 10 + "\n... 2,000 more characters in the record"
    assert storable("a\r\nb\0") == "a\nb\ufffd"
