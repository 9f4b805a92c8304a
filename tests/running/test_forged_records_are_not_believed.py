"""What a forger edits in a record is refused or marked, as far as anything shows it without running the submission."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.audit.board import Board
from harness.model import Challenge, GradeProfile, Record
from harness.model.seeds import seed_of
from harness.scoring import score
from harness.scoring.doubts import DoubtKind, find_doubts
from harness.scoring.reward import reward
from harness.store import file_states, seals
from harness.store.content_key import probe_set
from harness.store.record_store import Store
from harness.workspace import Workspace

CHECKOUT = Path(__file__).resolve().parents[2]
NAME = "qwen3.6-27b/kv_cache"
Document = dict[str, Any]
Edit = Callable[[Document, Challenge], object]


def evidence(document: Document, id: str) -> Document:
    return next(item for item in document["evidence"] if item["criterion"] == id)


def failed_critical(document: Document) -> list[Document]:
    return [
        item for item in document["evidence"]
        if item["severity"] == "critical" and item["outcome"] == "failed" and not item["rests_on"]
    ]  # fmt: skip


def replaced(item: Document, outcome: str, **fields: object) -> None:
    """The item with another outcome, and nothing of its failure."""
    kept = {key: item[key] for key in ("criterion", "dimension", "severity")}
    item.clear()
    item.update(kept, outcome=outcome, **fields)


def rescored(document: Document, rubric: Challenge) -> None:
    """Marks and reward that follow from the edited evidence, as a careful forger writes them."""
    record = Record.from_json(json.dumps(document | {"schema_version": Record.SCHEMA}))
    asked = {c.id for c in rubric.criteria}
    if {e.criterion for e in record.evidence} == asked:
        found = score(rubric, record.evidence, built=record.build is None)
        marks = GradeProfile.REWARD.criteria(rubric)
        document["reward"] = reward(rubric, record.evidence, marks, built=record.build is None)
        document["overall"] = found.overall.model_dump()
        document["dimensions"] = {id: mark.model_dump() for id, mark in found.dimensions.items()}
        document["gates"] = [gate.model_dump() for gate in found.gates]


def passed(document: Document, item: Document, seed: int | None = None) -> None:
    replaced(item, "passed", seed=seed_of(document["seed"], item["criterion"]) if seed is None else seed)


def every_critical(change: Callable[[Document, Document], object]) -> Edit:
    """Change each critical criterion that failed, and score the record anew."""

    def edit(document: Document, rubric: Challenge) -> None:
        for item in failed_critical(document):
            change(document, item)
        rescored(document, rubric)

    return edit


def rest_on(cause: Callable[[Document, Document], str], **fields: object) -> Edit:
    def change(document: Document, item: Document) -> None:
        target = cause(document, item)
        replaced(item, "failed", rests_on=target, detail="fails as well", seed=item["seed"], **fields)

    return every_critical(change)


def some_passed(document: Document, item: Document) -> str:
    return next(e["criterion"] for e in document["evidence"] if e["outcome"] == "passed")


def some_lesser(document: Document, item: Document) -> str:
    found = [e for e in document["evidence"] if e["severity"] != "critical" and e["outcome"] == "failed"]
    return next(e["criterion"] for e in found if not e["rests_on"])


def each_other(document: Document, item: Document) -> str:
    ids = [e["criterion"] for e in document["evidence"] if e["severity"] == "critical"]
    return ids[(ids.index(item["criterion"]) + 1) % len(ids)]


def left_out(document: Document, rubric: Challenge) -> None:
    gone = [item["criterion"] for item in failed_critical(document)]
    document["evidence"] = [e for e in document["evidence"] if e["criterion"] not in gone and e["rests_on"] not in gone]


def severities(document: Document, rubric: Challenge) -> None:
    for item in failed_critical(document):
        item["severity"] = "minor"


def renamed(document: Document, rubric: Challenge) -> None:
    evidence(document, "causality")["criterion"] = "casuality"


def unfailed(document: Document, rubric: Challenge) -> None:
    """Outcomes alone: the marks stay."""
    for item in failed_critical(document):
        passed(document, item)


def review_passed(document: Document, rubric: Challenge) -> None:
    for criterion in rubric.criteria:
        if criterion.review:
            replaced(evidence(document, criterion.id), "passed")
    rescored(document, rubric)


def set_of(place: str, **fields: object) -> Edit:
    return lambda document, rubric: document[place].update(fields)


def set_to(**fields: object) -> Edit:
    return lambda document, rubric: document.update(fields)


def add_dimension_points(document: Document, rubric: Challenge) -> None:
    for mark in document["dimensions"].values():
        mark["score"] = 99.0


def doubled(document: Document, rubric: Challenge) -> None:
    document["evidence"].append(evidence(document, some_passed(document, {})))


def passes_with_failed_draws(document: Document, item: Document) -> None:
    passed(document, item)
    item["draws"] = {"planned": 10, "tried": 10, "failed": 3}


def transplanted(document: Document, rubric: Challenge) -> None:
    """Evidence of a better record in the place of each failure, seeds and all."""
    better = json.loads((CHECKOUT / "reports/records/kv_cache/baseline.json").read_text())
    for item in failed_critical(document):
        other = evidence(better, item["criterion"])
        item.clear()
        item.update(other)
    rescored(document, rubric)


MARKS, CRITERIA, OUTCOME, CAUSE, SEED = (
    DoubtKind.MARKS, DoubtKind.CRITERIA, DoubtKind.OUTCOME, DoubtKind.CAUSE, DoubtKind.SEED
)  # fmt: skip
OWN_FAILED = {"own_outcome": "failed"}
FORGERIES: dict[str, tuple[Edit, DoubtKind]] = {
    "the overall": (set_of("overall", score=94.0, low=90.0, high=98.0), MARKS),
    "the overall by five points": (lambda d, r: d["overall"].update(score=d["overall"]["score"] - 5), MARKS),
    "the interval": (set_of("overall", low=48.0), MARKS),
    "the upper end": (set_of("overall", high=100.0), MARKS),
    "the coverage": (set_of("overall", coverage=1.0), MARKS),
    "one dimension": (lambda d, r: d["dimensions"]["correctness"].update(score=94.0), MARKS),
    "every dimension": (add_dimension_points, MARKS),
    "a dimension left out": (lambda d, r: d["dimensions"].pop("correctness"), MARKS),
    "no dimensions": (set_to(dimensions={}), MARKS),
    "a dimension of its own": (lambda d, r: d["dimensions"].update(style=d["dimensions"]["correctness"]), MARKS),
    "no gates": (set_to(gates=[]), MARKS),
    "a higher gate": (lambda d, r: d["gates"][0].update(ceiling=90.0), MARKS),
    "less unmet": (lambda d, r: d["gates"][0].update(unmet=0.0), MARKS),
    "a gate for other criteria": (lambda d, r: d["gates"][0].update(criteria=["shapes"]), MARKS),
    "the reward": (set_to(reward=1.0), MARKS),
    "outcomes without marks": (unfailed, MARKS),
    "failed criteria left out": (left_out, CRITERIA),
    "failed criteria left out and rescored": (
        lambda d, r: (left_out(d, r), rescored(d, r)), CRITERIA
    ),
    "criticals called minor": (severities, CRITERIA),
    "a criterion renamed": (renamed, CRITERIA),
    "a criterion of another dimension": (
        lambda d, r: evidence(d, "causality").update(dimension="readability"), CRITERIA
    ),
    "a criterion of its own": (
        lambda d, r: d["evidence"].append(evidence(d, "shapes") | {"criterion": "beauty"}), CRITERIA
    ),
    "a criterion twice": (doubled, CRITERIA),
    "failures rest on what passed": (rest_on(some_passed, **OWN_FAILED), CAUSE),
    "failures rest on a lesser one": (rest_on(some_lesser, **OWN_FAILED), CAUSE),
    "failures rest on each other": (rest_on(each_other, **OWN_FAILED), CAUSE),
    "failures rest on themselves": (rest_on(lambda d, e: e["criterion"], **OWN_FAILED), CAUSE),
    "failures rest on the build": (rest_on(lambda d, e: "build"), CAUSE),
    "failures rest on nothing there": (rest_on(lambda d, e: "weather", **OWN_FAILED), CAUSE),
    "failures said to have passed by themselves": (rest_on(some_lesser, own_outcome="passed"), CAUSE),
    "failures said to have gone unmeasured": (rest_on(some_lesser, own_outcome="not_run"), CAUSE),
    "failures not offered": (every_critical(lambda d, e: replaced(e, "not_offered", detail="not claimed")), OUTCOME),
    "reviews answered": (review_passed, OUTCOME),
    "passed with drawn cases that failed": (every_critical(passes_with_failed_draws), OUTCOME),
    "passed without a seed": (every_critical(lambda d, e: replaced(e, "passed")), SEED),
    "passed on another seed": (every_critical(lambda d, e: passed(d, e, seed=7)), SEED),
    "evidence of a better record": (transplanted, SEED),
    "another seed of the record": (lambda d, r: d.update(seed=d["seed"] + 1), SEED),
    "ranked without isolation": (set_of("environment", tier="unsafe"), DoubtKind.RANKED),
    "ranked on a part": (set_to(profile="correctness"), DoubtKind.RANKED),
    "ranked though cut off": (set_to(cut_off=True, reward=None), DoubtKind.RANKED),
    "graded though the harness failed": (
        lambda d, r: (replaced(evidence(d, "shapes"), "judge_error", detail="x"), rescored(d, r)), DoubtKind.STATUS
    ),
}  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """One with the records of kv_cache, which state that they were graded by what is there."""
    monkeypatch.setattr(file_states, "SETTLED_SECONDS", -1.0)
    for place in ("challenges", "references"):
        shutil.copytree(CHECKOUT / place / "kv_cache", tmp_path / place / "kv_cache")
    found = Workspace(tmp_path)
    ours = probe_set(found, "kv_cache")
    for path in (CHECKOUT / "reports/records/kv_cache").glob("*.json"):
        place = found.records_folder / "kv_cache" / path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(json.loads(path.read_text()) | {"probe_set": ours, "outside": True}))
    return found


def forge(workspace: Workspace, edit: Edit, **fields: object) -> Path:
    """Edit a published record of a submission that fails critical criteria."""
    path = workspace.record_path(*NAME.split("/"))
    document = json.loads(path.read_text())
    edit(document, workspace.challenge("kv_cache"))
    path.write_text(json.dumps(document | fields))
    return path


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_record_is_refused_by_board_and_audit(workspace: Workspace, caplog, name: str) -> None:
    edit, kind = FORGERIES[name]
    path = forge(workspace, edit)
    found = find_doubts(
        Record.from_json(path.read_text()), workspace.challenge("kv_cache"), lambda: probe_set(workspace, "kv_cache")
    )
    assert kind in {doubt.kind for doubt in found}, [str(doubt) for doubt in found]
    index = Store(workspace).published
    assert index.read().left_out == index.read_marks().left_out == (NAME,)
    assert f"left out: {path}: " in caplog.text and "harness grade qwen3.6-27b/kv_cache --force" in caplog.text
    board = Board(workspace.root, workspace)
    assert [str(each) for each in board.names() if board.read(each).refused] == [NAME]


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_that_names_another_probe_set_is_refused_or_not_ranked(workspace: Workspace, name: str) -> None:
    """What only the rubric could tell may be honest in an older record: it is shown, and counts in no rank."""
    forge(workspace, FORGERIES[name][0], probe_set="0" * 64)
    (found,) = [s for s in Store(workspace).published.read_marks().summaries if s.name == NAME] or [None]
    assert found is None or (found.doubts == (DoubtKind.OLDER_RUBRIC,) and not found.ranked) or name in WORDS


WORDS = {"a gate for other criteria"}
"""Changes no mark, and who knows the other rubric's words?"""


def test_right_records_are_neither_refused_nor_marked(workspace: Workspace) -> None:
    """Those of this repository, and the same as if they had been graded by what is here now."""
    for root in (workspace, Workspace(CHECKOUT)):
        read = Store(root).published.read()
        assert (read.left_out, read.doubts) == ((), {}) and len(read.records) >= 5
    for record in Workspace(CHECKOUT).records():
        rubric = Workspace(CHECKOUT).challenge(record.challenge)
        assert find_doubts(record, rubric, lambda theirs=record.probe_set: theirs) == ()


def test_a_failure_on_a_seed_that_failed_these_files_before_is_believed_whoever_is_charged() -> None:
    checkout = Workspace(CHECKOUT)
    record, rubric = checkout.record(NAME), checkout.challenge("kv_cache")
    charged = [e.criterion for e in record.evidence if e.rests_on and e.seed is not None]
    earlier = [e.model_copy(update={"seed": 5}) if e.criterion in charged else e for e in record.evidence]
    again = record.model_copy(update={"evidence": tuple(earlier)})
    assert charged
    assert find_doubts(again, rubric, lambda: record.probe_set) == ()


def by_older_gates(document: Document, rubric: Challenge) -> None:
    """The record as it was made before critical criteria ordered the marks under a ceiling."""
    document["overall"] |= {"score": 49.0, "high": 49.0}
    for gate in document["gates"]:
        del gate["unmet"]


def test_a_record_made_before_critical_criteria_ordered_marks_is_shown_and_not_ranked(workspace: Workspace) -> None:
    forge(workspace, by_older_gates)
    (found,) = [s for s in Store(workspace).published.read_marks().summaries if s.name == NAME]
    assert (found.doubts, found.ranked, found.overall.score) == ((DoubtKind.OLDER_RUBRIC,), False, 49)


def over_its_ceiling(document: Document, rubric: Challenge) -> None:
    over = min(gate["ceiling"] for gate in document["gates"] if gate["dimension"] is None) + 1
    document["overall"] |= {"score": over, "high": over}


def test_no_record_has_a_mark_over_a_gate_whenever_it_was_made(workspace: Workspace) -> None:
    forge(workspace, by_older_gates)
    forge(workspace, over_its_ceiling)
    assert Store(workspace).published.read_marks().left_out == (NAME,)


OTHER_RUBRICS = {
    "a weight": lambda text: text.replace("weight = ", "weight = 1", 1),
    "a severity": lambda text: text.replace('severity = "major"', 'severity = "minor"', 1),
    "a title": lambda text: text.replace('title = "Correctness"', 'title = "Right or wrong"'),
    "a criterion's id": lambda text: text.replace('"decode_speed"', '"speed_of_decoding"'),
    "a cause": lambda text: text.replace('rests_on = ["any_history"]', "rests_on = []"),
}


@pytest.mark.parametrize("name", OTHER_RUBRICS)
def test_a_record_of_an_older_rubric_is_never_called_forged(workspace: Workspace, caplog, name: str) -> None:
    rubric = workspace.challenge_folder("kv_cache") / "challenge.toml"
    before = rubric.read_text()
    rubric.write_text(OTHER_RUBRICS[name](before))
    assert rubric.read_text() != before
    read = Store(workspace).published.read()
    assert len(read.records) == 5 and read.left_out == () and "left out" not in caplog.text
    assert {kind for kinds in read.doubts.values() for kind in kinds} <= {DoubtKind.OLDER_RUBRIC}


def test_what_follows_from_nothing_but_running_is_left_to_the_audit(workspace: Workspace) -> None:
    """Honesty about the limit: each failure a pass, on its seed, all marks anew. `docs/audit.md` says so."""
    forge(workspace, every_critical(lambda document, item: passed(document, item)))
    assert NAME not in Store(workspace).published.read().doubts


EDITS = {
    "a mark": "UPDATE summaries SET score = 99, low = 99, high = 99 WHERE model = 'qwen3.6-27b'",
    "shares": "UPDATE summaries SET shares = (SELECT shares FROM summaries WHERE model = 'baseline')",
    "a rank": "UPDATE summaries SET ranked = 0, integrity = 9",
    "details": "UPDATE summaries SET details = replace(details, 'false', 'true')",
    "all but the state": "UPDATE summaries SET (score, seal, details, details_seal) = "
    "(SELECT score, seal, details, details_seal FROM summaries WHERE model = 'baseline')",
    "a view": "UPDATE views SET body = (SELECT body FROM views WHERE name = 'forged')",
    "duels": "UPDATE views SET body = x'7b7d0a' WHERE name GLOB 'duels*'",
}


@pytest.mark.parametrize("name", EDITS)
def test_what_was_edited_in_the_store_is_found_anew(workspace: Workspace, name: str) -> None:
    index = Store(workspace).published

    def shown() -> list[object]:
        marks = index.read_marks()
        view = index.view("board", lambda measured: [str(s.overall) for s in measured().summaries])
        duels = [(d.left, d.right, d.winner) for d in marks.duels]
        return [[(s.name, s.overall, s.ranked, s.shares, s.results) for s in marks.summaries], list(view), duels]

    expected = shown()
    index.view("forged", lambda measured: ["forged"])
    with sqlite3.connect(Store(workspace).path) as connection:
        assert connection.execute(EDITS[name]).rowcount
    assert shown() == expected


def test_without_a_key_nothing_that_was_kept_is_believed(workspace: Workspace, monkeypatch) -> None:
    index = Store(workspace).published
    expected = index.read_marks().summaries
    monkeypatch.setattr(seals, "_key", lambda: b"")
    read: list[str] = []
    whole = Record.from_json.__func__
    monkeypatch.setattr(Record, "from_json", classmethod(lambda cls, text: read.append("") or whole(cls, text)))
    for _ in range(2):
        read.clear()
        assert index.read_marks().summaries == expected and len(read) == 5


def test_the_key_of_the_seals_is_this_user_s_alone(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made = seals._key.__wrapped__()
    (path,) = (tmp_path / "harness").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600 and made == path.read_bytes() == seals._key.__wrapped__()
    assert len(made) == seals.BYTES
    monkeypatch.setenv("XDG_STATE_HOME", str(path))
    assert seals._key.__wrapped__() == b""
