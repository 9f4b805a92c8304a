"""Malformed, foreign, doubled or missing records, reviews and rounds end in a message or an honest empty section."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import sample_records as sample

from harness.model import Outcome, Record
from harness.report.pages import render_all
from harness.report.views.inputs import ReportInputs
from harness.report.views.mark_source import MarkSource
from tests.commands import called
from tests.reconstructed import folder_of

ROOT = Path(__file__).parents[2]
Run = Callable[..., "subprocess.CompletedProcess[str]"]
REVIEW = """schema_version = 1
model = "glm-5"
challenge = "kv_cache"

[reviewer]
kind = "person"
id = "somebody"
date = 2026-11-20

[[marks]]
target = "{target}"
mark = {mark}
remark = "{remark}"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with the challenges, two records and one submission of this repository."""
    shutil.copytree(ROOT / "challenges", tmp_path / "challenges")
    folder, name = tmp_path / "submissions" / "glm-5" / "kv_cache", "submissions/collections/llm_programming_tests"
    shutil.copytree(folder_of("glm-5", "kv_cache"), folder)
    shutil.copytree(ROOT / name / "glm-5" / "kv_cache" / "reviews", folder / "reviews")
    records = tmp_path / "reports" / "records" / "kv_cache"
    records.mkdir(parents=True)
    for model in ("glm-5", "minimax-m2.7"):
        shutil.copy(ROOT / "reports" / "records" / "kv_cache" / f"{model}.json", records)
    return tmp_path


@pytest.fixture
def run(root: Path) -> Run:
    def call(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return called(root, *arguments)

    return call


def refused(ended: "subprocess.CompletedProcess[str]", code: int, *told: str) -> None:
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    for words in told:
        assert words in ended.stderr


def record_of(root: Path, model: str = "glm-5") -> Path:
    return root / "reports" / "records" / "kv_cache" / f"{model}.json"


def test_two_models_make_a_whole_set(run: Run, root: Path) -> None:
    assert run("report").returncode == 0
    made = {str(path.relative_to(root / "reports")) for path in (root / "reports").rglob("*.md")}
    assert {"kv_cache.md", "scoreboard.md", "head_to_head/glm-5_vs_minimax-m2.7.md"} <= made


def test_a_newer_record_is_told_by_its_schema(run: Run, root: Path) -> None:
    content = json.loads(record_of(root).read_text())
    record_of(root).write_text(json.dumps(content | {"schema_version": Record.SCHEMA + 1}))
    refused(run("report"), 0, "left out", "glm-5.json", f"schema {Record.SCHEMA + 1} is newer", "update the harness")


def test_an_older_record_is_told_by_what_it_lacks(run: Run, root: Path) -> None:
    content = json.loads(record_of(root).read_text())
    del content["environment"]
    record_of(root).write_text(json.dumps(content | {"schema_version": 0}))
    refused(run("report"), 0, "left out", "glm-5.json", "harness grade --force")


def test_a_record_under_another_name_does_not_count_twice(run: Run, root: Path) -> None:
    shutil.copy(record_of(root), record_of(root, "glm-5-copy"))
    refused(run("report"), 0, "left out", "glm-5-copy.json", "is the record of glm-5/kv_cache", "remove it")


@pytest.mark.parametrize("name", ["<b>x</b>", "../x", "模型", "a b", ""])
def test_a_record_of_a_model_with_an_impossible_name_is_refused(run: Run, root: Path, name: str) -> None:
    content = json.loads(record_of(root).read_text())
    record_of(root).write_text(json.dumps(content | {"model": name}))
    refused(run("report"), 0, "left out", "glm-5.json", "is not a record")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"mark": "101"}, "marks.0.mark"),
        ({"mark": "-1"}, "marks.0.mark"),
        ({"mark": "nan"}, "marks.0.mark"),
        ({"target": "correctnes"}, "did you mean 'correctness'"),
        ({"target": "speling"}, "has no dimension or criterion 'speling'"),
    ],
)
def test_a_review_outside_the_rubric_is_refused(run: Run, root: Path, changes: dict[str, str], told: str) -> None:
    folder = root / "submissions" / "glm-5" / "kv_cache" / "reviews"
    text = REVIEW.format(**{"target": "correctness", "mark": "50", "remark": ""} | changes)
    (folder / "somebody.toml").write_text(text)
    refused(run("report"), 2, "somebody.toml", told)


@pytest.mark.parametrize("target", ["correctness", "causality"])
def test_a_model_does_not_mark_what_is_measured(run: Run, root: Path, target: str) -> None:
    folder = root / "submissions" / "glm-5" / "kv_cache" / "reviews"
    text = REVIEW.format(target=target, mark=50, remark="").replace('"person"', '"model"')
    (folder / "somebody.toml").write_text(text)
    refused(run("report"), 2, "somebody.toml", f"'{target}' is measured by running")


@pytest.mark.parametrize(
    ("other", "target", "told"),
    [("glm-5", "readability", "against itself"), ("minimax-m2.7", "causality", "is measured by running")],
)
def test_a_preference_outside_the_rubric_is_refused(run: Run, root: Path, other: str, target: str, told: str) -> None:
    folder = root / "submissions" / "glm-5" / "kv_cache" / "reviews"
    head = (
        REVIEW.partition("[[marks]]")[0]
        .replace('"person"', '"model"')
        .replace("[reviewer]", "marks = []\n\n[reviewer]")
    )
    counts = f'[[preferences]]\ntarget = "{target}"\nother = "{other}"\n'
    (folder / "somebody.toml").write_text(head + counts + "wins = 3\nlosses = 3\nties = 0\nundecided = true\n")
    refused(run("report"), 2, "somebody.toml", told)


def test_a_quote_that_is_not_in_the_files_is_refused_with_its_words(run: Run, root: Path) -> None:
    folder = root / "submissions" / "glm-5" / "kv_cache" / "reviews"
    quote = '\n[[marks.quotes]]\nfile = "adapter.py"\ntext = "never written here"\n'
    (folder / "somebody.toml").write_text(REVIEW.format(target="correctness", mark=50, remark="") + quote)
    refused(run("report"), 2, "somebody.toml", "adapter.py does not say 'never written here'")


def test_a_review_beside_is_shown_and_moves_nothing(run: Run, root: Path) -> None:
    assert run("report").returncode == 0
    before = (root / "reports" / "scoreboard.md").read_text()
    folder = root / "submissions" / "glm-5" / "kv_cache" / "reviews"
    words = "<script>alert(1)</script> | [x](http://example.org)"
    (folder / "somebody.toml").write_text(REVIEW.format(target="correctness", mark=1, remark=words))
    assert run("report").returncode == 0
    page = (root / "reports" / "kv_cache.md").read_text()
    assert "somebody, 2026-11-20" in page and "&lt;script&gt;" in page and "<script>" not in page
    assert (root / "reports" / "scoreboard.md").read_text() == before


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("schema_version = 1\nround = []\n", "round"),
        ('[[rounds]]\nid = "a"\ntitle = "A"\nmodels = ["m"]\nchallenges = ["kv_cach"]\n', "did you mean 'kv_cache'"),
        ('[[rounds]]\nid = "a"\ntitle = "A"\nmodels = []\nchallenges = ["kv_cache"]\n', "rounds.a.models"),
        (2 * '[[rounds]]\nid = "a"\ntitle = "A"\nmodels = ["m"]\nchallenges = ["kv_cache"]\n', "the id of two rounds"),
    ],
)
def test_malformed_rounds_are_named(run: Run, root: Path, text: str, told: str) -> None:
    (root / "reports" / "rounds.toml").write_text(text)
    refused(run("report"), 2, "rounds.toml", told)


def test_a_round_of_models_that_nobody_graded_has_no_page_and_its_old_one_goes(run: Run, root: Path) -> None:
    rounds = root / "reports" / "rounds.toml"
    entry = '[[rounds]]\nid = "a"\ntitle = "A"\nmodels = ["{}", "absent"]\nchallenges = ["kv_cache"]\n'
    rounds.write_text(entry.format("glm-5"))
    assert run("report").returncode == 0
    page = root / "reports" / "rounds" / "a.md"
    assert "Without a mark: absent." in page.read_text()
    rounds.write_text(entry.format("missing"))
    assert "removed" in run("report").stdout
    assert not page.exists()


def test_an_empty_workspace_says_what_to_do(run: Run, root: Path) -> None:
    shutil.rmtree(root / "reports")
    shutil.rmtree(root / "submissions")
    ended = run("report")
    assert ended.returncode == 0, ended.stderr
    assert "harness grade --all" in (root / "reports" / "scoreboard.md").read_text()
    assert "Traceback" not in run("scoreboard").stderr


def test_without_a_challenge_nothing_breaks() -> None:
    assert list(render_all(ReportInputs(()))) == ["scoreboard.md", "scoreboard.svg", "index.html"]
    assert render_all(ReportInputs(()), MarkSource.PUBLISHED) == {}


def test_one_model_alone_is_compared_with_nobody() -> None:
    reports = render_all(ReportInputs((sample.CHALLENGE,), (sample.record(),)))
    assert not any(name.startswith("head_to_head/") for name in reports)
    board = reports["scoreboard.md"]
    assert "## Head to head" not in board and "## The ideal hybrid" not in board and "gold" not in board


def test_a_challenge_that_nobody_answered_is_in_no_table() -> None:
    other = sample.CHALLENGE.model_copy(update={"id": "other", "title": "Nobody's"})
    reports = render_all(ReportInputs((sample.CHALLENGE, other), (sample.record(),)))
    assert "other.md" not in reports
    assert "Nobody's" not in reports["scoreboard.md"]


def test_where_nothing_was_assessed_no_mark_is_made_up() -> None:
    unrun = {c.id: {"outcome": Outcome.NOT_RUN, "detail": "no time was left"} for c in sample.CRITERIA}
    records = (sample.record("one", unrun), sample.record("two", unrun))
    reports = render_all(ReportInputs((sample.CHALLENGE,), records))
    board = reports["scoreboard.md"]
    assert board.count("not assessed") >= 2 and "gold" not in board
    assert not any(name.startswith("head_to_head/") for name in reports)
    for text in reports.values():
        assert "None" not in text and "nan" not in text.lower().split()
