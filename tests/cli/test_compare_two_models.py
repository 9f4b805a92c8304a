"""`harness compare` tells two models apart by what their records hold, and says what it cannot compare."""

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import main
from harness.model import Evidence, Outcome, Record, Severity
from harness.report.views.answers import ModelAnswer, answers
from harness.report.views.comparison import ModelComparison, compare_challenge
from harness.report.views.criterion_sides import AnswerSides, CriterionSide
from harness.scoring.duels import duel
from harness.workspace import Workspace
from tests.written import compared_markdown

CHECKOUT = Workspace(Path(__file__).parents[2])
LEFT, RIGHT = "glm-5", "qwen3.6-27b"
SHARED = [id for id in CHECKOUT.challenges() if (CHECKOUT.root / "reports" / "records" / id / f"{LEFT}.json").exists()]
"""Challenges that the models compared have records of."""
Told = tuple[int, str, str]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace with the bundled challenges and no records."""
    for id in CHECKOUT.challenges():
        (tmp_path / "challenges" / id).mkdir(parents=True)
        shutil.copy(CHECKOUT.challenge_folder(id) / "challenge.toml", tmp_path / "challenges" / id)
    monkeypatch.setenv("HARNESS_WORKSPACE", str(tmp_path))
    return Workspace(tmp_path)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """Run `harness compare`: exit code, stdout and stderr."""

    def run(*arguments: str) -> Told:
        code = main(["compare", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    monkeypatch.setenv("COLUMNS", "80")
    return run


def keep(place: Workspace, *records: Record) -> None:
    for record in records:
        path = place.record_path(record.model, record.challenge)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(record.to_json())


def bundled(model: str, challenge: str = "kv_cache", **changes: Any) -> Record:
    return CHECKOUT.record(f"{model}/{challenge}").model_copy(update=changes)


@pytest.fixture
def both(place: Workspace) -> Workspace:
    keep(place, *(bundled(model, id) for model in (LEFT, RIGHT, "baseline") for id in SHARED))
    return place


def as_json(told: Callable[..., Told], *arguments: str) -> dict[str, Any]:
    code, out, _ = told(*arguments, "--format", "json")
    assert code == 0
    return dict(json.loads(out))


def outcomes(record: Record) -> dict[str, Evidence]:
    return {e.criterion: e for e in record.evidence}


def test_the_winner_is_that_of_the_duel(both: Workspace, told: Callable[..., Told]) -> None:
    found = as_json(told, LEFT, RIGHT)
    assert [task["challenge"] for task in found["challenges"]] == SHARED
    for task in found["challenges"]:
        id = task["challenge"]
        fought = duel(CHECKOUT.challenge(id), bundled(LEFT, id), bundled(RIGHT, id))
        assert (task["duel"]["left"], task["duel"]["right"]) == (fought.left_mark, fought.right_mark)
        assert task["duel"]["winner"] == fought.winner
        assert task["left"]["overall"] == bundled(LEFT, id).overall.model_dump()
    wins = [task["duel"]["winner"] for task in found["challenges"]]
    assert found["tally"] == {m: wins.count(m) + wins.count(None) / 2 for m in (LEFT, RIGHT)}


def test_the_order_of_the_names_changes_nothing_but_the_sides(both: Workspace, told: Callable[..., Told]) -> None:
    one, other = as_json(told, LEFT, RIGHT), as_json(told, RIGHT, LEFT)
    assert one["tally"] == other["tally"]
    for task, mirrored in zip(one["challenges"], other["challenges"], strict=True):
        assert task["duel"]["winner"] == mirrored["duel"]["winner"]
        for row, twin in zip(task["criteria"], mirrored["criteria"], strict=True):
            assert (row["left"], row["right"], row["ahead"]) == (twin["right"], twin["left"], twin["ahead"])


def test_every_criterion_is_told_as_the_records_hold_it(both: Workspace, told: Callable[..., Told]) -> None:
    (task,) = as_json(told, LEFT, RIGHT, "-c", "kv_cache")["challenges"]
    left, right = outcomes(bundled(LEFT)), outcomes(bundled(RIGHT))
    assert [row["criterion"] for row in task["criteria"]] == [c.id for c in CHECKOUT.challenge("kv_cache").criteria]
    for row in task["criteria"]:
        a, b = left[row["criterion"]], right[row["criterion"]]
        assert (row["left"]["outcome"], row["right"]["outcome"]) == (a.outcome, b.outcome)
        ahead = None
        counts = row["criterion"] not in {*bundled(LEFT).unmarked, *bundled(RIGHT).unmarked}
        if counts and a.outcome.assessed and b.outcome.assessed and a.satisfied != b.satisfied:
            ahead = LEFT if a.satisfied > b.satisfied else RIGHT
        assert row["ahead"] == ahead


def test_the_table_lists_what_differs_and_what_both_miss(both: Workspace, told: Callable[..., Told]) -> None:
    other = "minimax-m2.7"  # neither masks the tokens of a prompt
    keep(both, bundled(other))
    (task,) = as_json(told, LEFT, other, "-c", "kv_cache")["challenges"]
    _, out, _ = told(LEFT, other, "-c", "kv_cache")
    apart = out.partition("What tells them apart\n")[2].partition("Both miss:")[0]
    missed = out.partition("Both miss:")[2].partition("\n\n")[0].partition("Both meet in part:")[0]
    listed = {line.split()[0] for line in apart.splitlines() if line and line[0] != " "} - {"Criterion"}
    assert listed == {row["criterion"] for row in task["criteria"] if row["ahead"]} != set()
    left, right = outcomes(bundled(LEFT)), outcomes(bundled(other))
    asked = left.keys() - {*bundled(LEFT).unmarked, *bundled(other).unmarked}
    alike = {id for id in asked if left[id].outcome == right[id].outcome == Outcome.FAILED}
    assert alike and all(id in missed for id in alike)
    severity = {c.id: c.severity.weight for c in CHECKOUT.challenge("kv_cache").criteria}
    rows = [line.split()[0] for line in apart.splitlines() if line.split()[:1] and line.split()[0] in severity]
    drawn = any(side[id].draws for id in rows for side in (left, right))
    assert rows and " ".join(out.split()).count("would be missed once in 20 times") == drawn
    for order in (rows, [id for id in re.findall(r"\w+", missed.partition("Assessed")[0])]):
        weights = [severity[id] for id in order]
        assert weights == sorted(weights, reverse=True)


def test_of_several_attempts_shares_are_stated_and_each_fault_once() -> None:
    """A criterion that 3 of 4 attempts meet on both sides is not missed by both."""
    rows = {
        "all": ([1, 1], [1, 1]), "some": ([1, 0], [0, 1]), "none": ([0, 0], [0, 0]), "apart": ([0, 0], [1, 1]),
        "too": ([0, 0], [1, 1]), "grave": ([0, 0], [1, 1]),
    }  # fmt: skip
    challenge = CHECKOUT.challenge("kv_cache")
    like = {severity: next(c for c in challenge.criteria if c.severity is severity) for severity in Severity}
    criteria = [
        like[Severity.CRITICAL if id == "grave" else Severity.MINOR].model_copy(update={"id": id}) for id in rows
    ]
    sides = [
        AnswerSides(
            answer(model),
            {id: side(id, met[place], "one long clause" if 0 in met[place] else "") for id, met in rows.items()},
        )
        for place, model in enumerate((LEFT, RIGHT))
    ]  # fmt: skip
    rubric = challenge.model_copy(update={"criteria": tuple(criteria)})
    shared = compare_challenge(rubric, *sides, duel(challenge, bundled(LEFT), bundled(RIGHT)))
    assert shared.unmet == ("none",)
    assert shared.half_met == ("some (met by 1 of 2)",)
    assert [row.criterion.id for row in shared.apart] == ["grave", "apart", "too"]
    page = compared_markdown(ModelComparison(LEFT, RIGHT, (shared,), (), (0.0, 1.0), ()))
    assert page.count("one long clause") == 1
    assert page.count("met by 0 of 2: as grave") == 2
    assert "Both miss: none." in page and "Both meet in part: some (met by 1 of 2)." in page


def answer(model: str) -> ModelAnswer:
    (only,) = answers([bundled(model)])
    return only


def side(id: str, shares: list[int], fault: str) -> CriterionSide:
    like = next(e for e in bundled(LEFT).evidence if e.outcome is Outcome.PASSED)
    failed = {"outcome": Outcome.FAILED}
    return CriterionSide(
        None, fault, tuple(like.model_copy(update={"criterion": id} | ({} if met else failed)) for met in shares)
    )


def test_csv_has_a_line_for_each_criterion(both: Workspace, told: Callable[..., Told]) -> None:
    _, out, _ = told(LEFT, RIGHT, "--format", "csv")
    lines = list(csv.DictReader(io.StringIO(out)))
    rows = [(t["challenge"], row) for t in as_json(told, LEFT, RIGHT)["challenges"] for row in t["criteria"]]
    assert len(lines) == len(rows)
    for line, (challenge, row) in zip(lines, rows, strict=True):
        assert (line["challenge"], line["criterion"], line["left"]) == (challenge, row["criterion"], LEFT)
        assert (line["left_outcome"], line["right_outcome"]) == (row["left"]["outcome"], row["right"]["outcome"])
        assert json.loads(line["right_figures"] or "{}") == row["right"]["measured"]
        assert line["ahead"] == (row["ahead"] or "")


def test_markdown_holds_whole_tables(both: Workspace, told: Callable[..., Told]) -> None:
    _, out, _ = told(LEFT, RIGHT, "--format", "md")
    for block in out.split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.replace("\\|", "").count("|") for line in rows}) <= 1
    assert "Layer norm backward" in out


def test_equal_records_are_a_split_that_counts_half(place: Workspace, told: Callable[..., Told]) -> None:
    keep(place, bundled(LEFT), bundled(LEFT).model_copy(update={"model": "twin"}))
    code, out, _ = told(LEFT, "twin")
    assert code == 0
    assert "A split between " in out and "What tells them apart" not in out
    assert as_json(told, LEFT, "twin")["tally"] == {LEFT: 0.5, "twin": 0.5}


def test_a_grade_that_failed_for_our_fault_is_no_duel(place: Workspace, told: Callable[..., Told]) -> None:
    gone: dict[str, Any] = {"outcome": Outcome.JUDGE_ERROR, "detail": "gone"}
    lost = tuple(
        Evidence(criterion=e.criterion, dimension=e.dimension, severity=e.severity, **gone)
        for e in bundled(RIGHT).evidence
    )
    none = {"score": None, "low": 0, "high": 100, "coverage": 0}
    broken = json.loads(bundled(RIGHT, evidence=lost, gates=(), build=None, error="gone").to_json())
    broken |= {"status": "judge_error", "overall": none, "dimensions": dict.fromkeys(broken["dimensions"], none)}
    keep(place, bundled(LEFT), Record.from_json(json.dumps(broken)))
    code, out, err = told(LEFT, RIGHT)
    assert code == 0
    assert "there is no winner" in out and "no duel" in out
    assert "Assessed on one of them only" in out
    assert "Not graded because the harness failed" in err
    assert as_json(told, LEFT, RIGHT)["tally"] == {LEFT: 0, RIGHT: 0}


def test_what_only_one_answered_is_said(place: Workspace, told: Callable[..., Told]) -> None:
    keep(place, bundled(LEFT), bundled(RIGHT), bundled(LEFT, "layernorm_backward"))
    code, out, err = told(LEFT, RIGHT)
    assert code == 0
    assert f"answered by one model only: {LEFT}/layernorm_backward" in err
    assert "layernorm_backward" not in out


def test_the_winner_s_mark_comes_first(both: Workspace, told: Callable[..., Told]) -> None:
    other = "minimax-m2.7"
    keep(both, bundled(other))
    for order in ((LEFT, other), (other, LEFT)):
        _, out, _ = told(*order, "-c", "kv_cache")
        (line,) = [line for line in out.splitlines() if " wins by " in line]
        high, low = (float(word) for word in line.split(": ")[1].split(" on ")[0].split(" to "))
        assert high > low


@pytest.mark.parametrize(
    "arguments",
    [(LEFT, RIGHT, "-c", "kv_cache"), (f"{LEFT}/kv_cache", RIGHT), (LEFT, f"{RIGHT}/kv_cache"),
     (f"{LEFT}/kv_cache", f"{RIGHT}/kv_cache")],
)  # fmt: skip
def test_one_challenge_can_be_named_in_any_place(
    both: Workspace, told: Callable[..., Told], arguments: tuple[str, ...]
) -> None:
    assert [t["challenge"] for t in as_json(told, *arguments)["challenges"]] == ["kv_cache"]


def test_a_broken_record_of_a_third_model_is_in_nobody_s_way(both: Workspace, told: Callable[..., Told]) -> None:
    both.record_path("baseline", "kv_cache").write_text("{")
    assert told(LEFT, RIGHT)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("glm5", RIGHT), f"no record of a model 'glm5'; did you mean '{LEFT}'?"),
        ((LEFT, "nobody"), "try: harness ls models"),
        ((LEFT, LEFT), "is given twice"),
        ((LEFT, f"{LEFT}/kv_cache"), "is given twice"),
        ((f"{LEFT}/kv_cache", f"{RIGHT}/layernorm_backward"), "name one challenge"),
        ((LEFT, RIGHT, "-c", "kv_cash"), "did you mean 'kv_cache'?"),
        (("../../etc/passwd", RIGHT), "no record of a model '..'"),
        (("", RIGHT), "no record of a model ''"),
    ],
)
def test_a_wrong_name_is_told(
    both: Workspace, told: Callable[..., Told], arguments: tuple[str, ...], words: str
) -> None:
    code, out, err = told(*arguments)
    assert (code, out) == (2, "")
    assert words in " ".join(err.split())
    assert "Traceback" not in err


def test_nothing_to_compare_is_told(place: Workspace, told: Callable[..., Told]) -> None:
    assert told(LEFT, RIGHT)[::2] == (2, "error: no records yet\n  try: harness grade --all\n")
    keep(place, bundled(LEFT))
    code, _, err = told(LEFT, RIGHT)
    assert (code, f"\n  only {LEFT} has records\n" in err) == (2, True)
    keep(place, bundled(RIGHT, "layernorm_backward"))
    code, _, err = told(LEFT, RIGHT)
    assert code == 2
    assert f"{LEFT} on kv_cache; {RIGHT} on layernorm_backward" in err
    assert f"harness grade {LEFT} {RIGHT}" in err
