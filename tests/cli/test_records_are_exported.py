"""`harness export` writes the published records whole, or says what it needs and writes nothing."""

import csv
import importlib.util
import json
import shutil
from pathlib import Path

import pytest
from cli_runs import Run

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def published(root: Path) -> Path:
    """The small workspace with the rubric and the records of a real challenge."""
    shutil.copytree(CHECKOUT / "reports" / "records" / "kv_cache", root / "reports" / "records" / "kv_cache")
    (root / "challenges" / "kv_cache").mkdir()
    (root / "submissions" / "baseline" / "kv_cache").mkdir(parents=True)
    shutil.copy(CHECKOUT / "challenges" / "kv_cache" / "challenge.toml", root / "challenges" / "kv_cache")
    return root


def test_each_format_holds_every_record(run: Run, published: Path) -> None:
    done = run("export", "--jsonl", "-", "--csv", "out/grades.csv")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    stored = sorted((published / "reports" / "records" / "kv_cache").glob("*.json"))
    assert [row["model"] for row in rows] == [path.stem for path in stored]
    assert (published / "out" / "grades.csv").read_text().count("\n") == len(stored) + 1
    assert done.stderr == f"wrote {len(stored)} rows to out/grades.csv\n"
    criteria = run("export", "evidence", "--jsonl", "-").stdout.splitlines()
    assert len(criteria) == sum(len(json.loads(path.read_text())["evidence"]) for path in stored)


def test_parquet_is_written_where_pyarrow_is_and_asked_for_elsewhere(run: Run, published: Path) -> None:
    done = run("export", "--parquet", "grades.parquet")
    made = published / "grades.parquet"
    if importlib.util.find_spec("pyarrow"):
        assert (done.returncode, made.read_bytes()[:4]) == (0, b"PAR1")
    else:
        assert (done.returncode, made.exists()) == (3, False)
        assert "pip install 'kernel-harness[parquet]'" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "name a format and a file"),
        (["--parquet", "-"], "--parquet writes to a file only"),
        (["--csv", "-", "--jsonl", "-"], "only one format can go to standard output"),
        (["--harbor", "rows"], "option '--harbor' requires 2 arguments"),
        (["--harbor", "row", "task"], "no challenge 'row'; did you mean 'rows'?"),
        (["--harbor", "rows", "challenges"], "challenges: exists already; nothing was changed"),
        (["answers", "--csv", "x.csv"], "no 'answers' one of records, evidence"),
    ],
)
def test_a_line_that_cannot_be_meant_is_a_usage_error(run: Run, words: list[str], told: str) -> None:
    done = run("export", *words)
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())


def test_an_edited_record_is_left_out_and_named(run: Run, published: Path) -> None:
    path = published / "reports" / "records" / "kv_cache" / "glm-5.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"overall": record["overall"] | {"score": 100.0}}))
    done = run("export", "--csv", "grades.csv")
    assert done.returncode == 0
    rows = list(csv.DictReader((published / "grades.csv").read_text().splitlines()))
    assert rows and "glm-5" not in [row["model"] for row in rows]
    assert "left out: " in done.stderr and "glm-5.json: overall does not follow from the evidence" in done.stderr


def test_a_workspace_without_records_says_so(run: Run, root: Path) -> None:
    done = run("export", "--csv", "grades.csv")
    assert done.returncode == 0
    assert "no records yet" in done.stderr
    assert (root / "grades.csv").read_text().startswith("model,challenge,")
