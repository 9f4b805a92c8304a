"""Records become data frames and files whose columns are the documented ones, and no value changes on the way."""

import csv
import io
import json
import math
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas
import pytest
from sample_records import RIGHT, record

import harness
from harness.errors import PrerequisiteError
from harness.model import Counterexample, Outcome, Record
from harness.report.exports.data_files import as_csv, as_json_lines, write_parquet
from harness.report.exports.data_frames import data_frame
from harness.report.exports.data_tables import ANY, DataTable, evidence_table, record_table
from harness.workspace import Workspace

CHECKOUT = Path(__file__).parents[2]
PAGE = (CHECKOUT / "docs" / "data.md").read_text()
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d")
HOSTILE = '=HYPERLINK("http://example.org")'


def faulty(title: str, **example: Any) -> Record:
    """A record with a failed criterion whose words and figures are the given ones."""
    seen = {
        "outcome": Outcome.FAILED, "title": title, "detail": "- seen",
        "measured": {"ratio": math.inf, "low": -math.inf},
        "counterexample": Counterexample(**example),
    }  # fmt: skip
    return record("model-a", RIGHT | {"shapes": seen})


def documented(heading: str) -> dict[str, str]:
    """Type by column, from the table below a heading of the page."""
    part = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", part, re.MULTILINE))


@pytest.mark.parametrize(
    ("heading", "table"),
    [("One row a grade", record_table), ("One row a criterion of a grade", evidence_table)],
)
def test_every_column_is_documented_with_its_type(heading: str, table: Callable[[Any], DataTable]) -> None:
    told = documented(heading)
    told = told if "attempt" in Record.model_fields else {k: v for k, v in told.items() if k != "attempt"}
    frame = data_frame(table(Workspace(CHECKOUT).records()))
    family = (("^dimension\\..+", "dimension.ID"), ("^seconds\\..+", "seconds.STAGE"))
    families = {}
    for name, dtype in frame.dtypes.astype(str).items():
        for pattern, whole in family:
            name = re.sub(pattern, whole, str(name))
        families[name] = dtype
    assert list(families.items()) == list(told.items())
    assert dict(data_frame(table([])).dtypes.astype(str)).items() <= told.items()


def test_a_row_is_a_grade_and_says_what_the_record_says() -> None:
    stored = Workspace(CHECKOUT).records()
    grades, criteria = harness.records(CHECKOUT), harness.evidence(CHECKOUT)
    assert len(grades) == len(stored)
    assert len(criteria) == sum(len(r.evidence) for r in stored)
    for (_, row), said in zip(grades.iterrows(), stored, strict=True):
        assert (row["model"], row["challenge"], row["key"]) == (said.model, said.challenge, said.key)
        assert row["score"] == said.overall.score
        own = criteria[(criteria["model"] == said.model) & (criteria["challenge"] == said.challenge)]
        assert list(own["criterion"]) == [e.criterion for e in said.evidence]
        assert list(own["measured"]) == [e.measured for e in said.evidence]
        assert own["satisfied"].isna().sum() == sum(not e.outcome.assessed for e in said.evidence)


def test_json_lines_keep_every_number_and_write_what_is_not_finite_as_records_do() -> None:
    given = faulty("wrong", expected=math.nan, got=-math.inf)
    (row,) = [
        row for row in map(json.loads, as_json_lines(evidence_table([given])).splitlines())
        if row["criterion"] == "shapes"
    ]  # fmt: skip
    stored = json.loads(given.to_json())
    (kept,) = [e for e in stored["evidence"] if e["criterion"] == "shapes"]
    assert row["measured"] == kept["measured"] == {"ratio": "Infinity", "low": "-Infinity"}
    assert (row["expected"], row["got"]) == ("NaN", "-Infinity")
    grades = [json.loads(line) for line in as_json_lines(record_table([given])).splitlines()]
    assert (grades[0]["made"], grades[0]["score"]) == (stored["made"], stored["overall"]["score"])


@pytest.mark.parametrize("start", [*FORMULA, "  ="])
def test_no_text_in_csv_begins_as_a_formula(start: str) -> None:
    given = faulty(f"{start}{HOSTILE}", where=f"{start}A1", expected=f"{start}1", got=-1.5)
    header, *rows = csv.reader(io.StringIO(as_csv(evidence_table([given])), newline=""))
    (shown,) = [row for row in rows if "shapes" in row]
    cells = dict(zip(header, shown, strict=True))
    assert cells["title"].endswith(HOSTILE) and cells["got"] == "-1.5"
    for cell in (cell for row in rows for cell in row if cell != "-1.5"):
        assert not cell.lstrip(" ").startswith(FORMULA)


def test_csv_reads_back_as_the_same_numbers() -> None:
    table = record_table(Workspace(CHECKOUT).records())
    back = pandas.read_csv(io.StringIO(as_csv(table)), dtype={"seed": "string"})
    frame = data_frame(table)
    for name in ("score", "low", "coverage", "seconds", "dimension.correctness"):
        pandas.testing.assert_series_equal(back[name], frame[name], check_exact=True)


def test_parquet_needs_pyarrow_and_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(PrerequisiteError, match=r"pip install 'kernel-harness\[parquet\]'"):
        write_parquet([record_table([])], io.BytesIO())


@pytest.mark.parametrize("tabled", [record_table, evidence_table])
def test_parquet_reads_back_as_the_same_table(tabled: Callable[[Sequence[Record]], DataTable]) -> None:
    """Of the published records: every column that holds one type comes back as it was, the others as text."""
    pytest.importorskip("pyarrow", reason="no pyarrow (45 MB): .venv/bin/python -m pip install -e '.[parquet]'")
    table = tabled([*Workspace(CHECKOUT).records(), faulty("wrong", expected=math.nan, got="text")])
    file = io.BytesIO()
    write_parquet([table], file)
    back, frame = pandas.read_parquet(file), data_frame(table)
    assert list(back.columns) == list(table.dtypes) and len(back) > 10
    mixed = [name for name, dtype in table.dtypes.items() if dtype == ANY]
    pandas.testing.assert_frame_equal(back.drop(columns=mixed), frame.drop(columns=mixed), check_exact=True)
    for name in mixed:
        assert back[name].isna().tolist() == frame[name].isna().tolist()
    if "measured" in mixed:
        assert json.loads(back[back["criterion"] == "shapes"]["measured"].iloc[-1])["ratio"] == "Infinity"


def test_the_examples_of_the_page_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HARNESS_WORKSPACE", str(CHECKOUT))
    monkeypatch.chdir(tmp_path)
    made: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    for block in blocks:
        exec(compile(block, "docs/data.md", "exec"), made)
    assert len(blocks) == 4
    assert made["error_by_attempt"].notna().any()
    assert made["pass_rate"]["mean"].between(0, 1).all()
    assert made["cost"]["minutes"].gt(0).all()


def test_without_records_the_examples_have_their_columns() -> None:
    assert data_frame(record_table([])).empty
    assert list(data_frame(evidence_table([]))["measured"].str["x"]) == []
