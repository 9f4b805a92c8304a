"""An audit says which marks of a board come out again and which do not; nothing follows from what it cannot compare."""

import json
import shutil
from typing import Any

import pytest

from harness.audit import regrading
from harness.audit.board import Board, sample
from harness.audit.regrading import AuditedRecord, AuditVerdict
from harness.errors import NotFoundError
from harness.model import Challenge, Draws, Evidence, GradeProfile, Outcome, Record
from harness.model.seeds import seed_of
from harness.model.submissions.name import SubmissionName
from harness.scoring import score
from harness.scoring.reward import reward
from harness.store.record_store import Store
from harness.workspace import Workspace
from tests.toy import CHALLENGE_ID, make_workspace

RIGHT, WRONG = f"right/{CHALLENGE_ID}", f"wrong/{CHALLENGE_ID}"


@pytest.fixture
def mine(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The auditor's workspace: the same challenge and nothing else."""
    return make_workspace(tmp_path_factory.mktemp("mine"))


def audited(mine: Workspace, board: Workspace) -> dict[str, AuditedRecord]:
    found = Board(board.root, mine)
    return {one.name: one for one in regrading.audit(mine, found, found.names())}


def changed(board: Workspace, name: str, **fields: Any) -> None:
    """Write other fields into a published record, as its owner could."""
    parsed = SubmissionName.parse(name)
    assert parsed
    path = board.records_folder / parsed.record
    path.write_text(Record.from_json(path.read_bytes()).model_copy(update=fields).to_json())


def forged(rubric: Challenge, record: Record, *criteria: str) -> dict[str, Any]:
    """The fields of a record that passes these criteria, marks that follow from it included."""
    evidence = tuple(
        type(e).of(rubric.criterion(e.criterion), Outcome.PASSED, seed=seed_of(record.seed, e.criterion))
        if e.criterion in criteria
        else e
        for e in record.evidence
    )
    scored = score(rubric, evidence, built=True)
    marks = {"overall": scored.overall, "dimensions": scored.dimensions, "gates": scored.gates}
    earned = reward(rubric, evidence, GradeProfile.REWARD.criteria(rubric), built=True)
    return {"evidence": evidence, "reward": earned, **marks}


def test_marks_that_were_made_come_out_again_and_a_second_audit_grades_nothing(graded_toy, mine) -> None:
    """A right and a wrong answer; what was graded is taken from the auditor's store."""
    first = audited(mine, graded_toy.workspace)
    assert {name: one.verdict for name, one in first.items()} == {RIGHT: "same", WRONG: "same"}
    assert [(one.overall, one.overall_now, one.reused) for one in first.values()] == [(100, 100, False), (0, 0, False)]
    assert all(one.reused for one in audited(mine, graded_toy.workspace).values())
    assert not list(mine.records_folder.glob("*"))
    key = graded_toy.workspace.record(RIGHT).key
    assert Store(mine).find(key) is None, "a grade with a chosen seed never stands for a new one"


def test_a_forged_mark_differs_and_is_shown_with_both_values(graded_toy, mine) -> None:
    """Its evidence was rewritten and scored anew, so that the file bears itself out."""
    board = graded_toy.workspace
    rubric = board.challenge(CHALLENGE_ID)
    changed(board, WRONG, **forged(rubric, board.record(WRONG), "values", "linear"))
    found = audited(mine, board)
    assert (found[RIGHT].verdict, found[WRONG].verdict) == ("same", "differs")
    assert (found[WRONG].overall, found[WRONG].overall_now) == (100, 0)
    values, linear = found[WRONG].differing
    assert (values.criterion, values.recorded, values.now) == ("values", "passed", "failed")
    assert (linear.criterion, linear.now) == ("linear", "failed, resting on values")
    assert "out is wrong" in values.why


def test_hiding_that_a_critical_criterion_fails_gives_no_mark_and_is_told(graded_toy, mine) -> None:
    board = graded_toy.workspace
    rubric, record = board.challenge(CHALLENGE_ID), board.record(WRONG)
    hidden = type(record.evidence[0]).of(rubric.criterion("values"), Outcome.NOT_RUN, detail="no time")
    record = record.model_copy(update={"evidence": (hidden, *record.evidence[1:])})
    changed(board, WRONG, **forged(rubric, record, "linear"))
    values, linear = audited(mine, board)[WRONG].criteria
    assert (values.verdict, values.recorded, values.now) == ("not compared", "not_run", "failed")
    assert linear.verdict is AuditVerdict.DIFFERS


def test_a_record_that_states_no_probe_set_is_compared_and_the_result_says_so(graded_toy, mine) -> None:
    """Its criteria are those of the rubric here; a forged mark differs as any does."""
    board = graded_toy.workspace
    rubric = board.challenge(CHALLENGE_ID)
    changed(board, RIGHT, probe_set=None)
    changed(board, WRONG, probe_set=None, **forged(rubric, board.record(WRONG), "values", "linear"))
    found = audited(mine, board)
    assert {name: (one.verdict, one.probe_set_stated) for name, one in found.items()} == {
        RIGHT: ("same", False), WRONG: ("differs", False),
    }  # fmt: skip


REFUSED = {
    "a mark": (lambda r: {"overall": r.overall.model_copy(update={"score": 90.0})}, "can be|does not follow"),
    "a criterion left out": (
        lambda r: {"evidence": r.evidence[1:]},
        "values is not as in its probe set: it is left out",
    ),
    "another name": (lambda r: {"model": "other"}, "is the record of other/scaled_sum"),
}


@pytest.mark.parametrize("change", REFUSED)
def test_a_file_that_contradicts_itself_is_refused(graded_toy, mine, change: str) -> None:
    edit, told = REFUSED[change]
    changed(graded_toy.workspace, WRONG, **edit(graded_toy.workspace.record(WRONG)))
    (one,) = regrading.audit(mine, Board(graded_toy.workspace.root, mine), [SubmissionName("wrong", CHALLENGE_ID)])
    assert one.verdict is AuditVerdict.REFUSED
    assert any(part in one.why for part in told.split("|"))


def environment(**fields: str) -> Any:
    return lambda r: {"environment": r.environment.model_copy(update=fields)}


def renamed(evidence: Evidence) -> Evidence:
    return evidence.model_copy(update={"criterion": f"old_{evidence.criterion}"})


INCOMPARABLE = {
    "no probe set, another rubric": (
        lambda r: {"probe_set": None, "evidence": (r.evidence[0], renamed(r.evidence[1]))},
        "has other criteria than the rubric here",
    ),
    "another probe set": (lambda r: {"probe_set": "0" * 64}, "other probe set: 000000000000, here "),
    "another harness": (environment(harness="9.9"), "other harness: 9.9, here "),
    "another device": (environment(device="GPU"), "other device: GPU, here cpu"),
    "a grade cut off": (lambda r: {"cut_off": True, "ranked": False, "reward": None}, "the grade was cut off"),
}


@pytest.mark.parametrize("change", INCOMPARABLE)
def test_what_cannot_be_compared_says_why_and_counts_for_nothing(graded_toy, mine, change: str) -> None:
    edit, told = INCOMPARABLE[change]
    changed(graded_toy.workspace, WRONG, **edit(graded_toy.workspace.record(WRONG)))
    (one,) = regrading.audit(mine, Board(graded_toy.workspace.root, mine), [SubmissionName("wrong", CHALLENGE_ID)])
    assert (one.verdict, one.criteria) == (AuditVerdict.NOT_COMPARED, ())
    assert told in one.why


def test_a_changed_probe_is_another_probe_set_and_a_changed_prompt_is_not(graded_toy, mine, monkeypatch) -> None:
    from harness.store import content_key

    def version() -> str:
        content_key._hashes.cache_clear()
        return content_key.probe_set(mine, CHALLENGE_ID)

    before = version()
    assert before == graded_toy.workspace.record(RIGHT).probe_set
    (mine.challenge_folder(CHALLENGE_ID) / "PROMPT.md").write_text("Sum.\n")
    assert version() == before
    for path in (
        mine.challenge_folder(CHALLENGE_ID) / "probes.py",
        mine.reference_folder(CHALLENGE_ID) / "reference.py",
    ):
        with path.open("a") as file:
            file.write("\n#\n")
        assert version() != before
        before = version()


@pytest.mark.parametrize("left", ["nothing", "a link out of the board", "another model's answer"])
def test_an_answer_that_is_not_there_is_said_to_be_missing(graded_toy, mine, tmp_path_factory, left: str) -> None:
    folder = graded_toy.workspace.root / "submissions" / "right" / CHALLENGE_ID
    aside = tmp_path_factory.mktemp("aside") / "answer"
    shutil.move(folder, aside)
    if left == "a link out of the board":
        folder.symlink_to(aside)
    elif left == "another model's answer":
        shutil.copytree(folder.parents[1] / "wrong" / CHALLENGE_ID, folder)
    (one,) = regrading.audit(mine, Board(graded_toy.workspace.root, mine), [SubmissionName("right", CHALLENGE_ID)])
    told = {"nothing": "is not there", "another model's answer": "is an answer of wrong to"}
    assert one.verdict is AuditVerdict.NOT_COMPARED
    assert told.get(left, "lies outside the board") in one.why


def test_a_failure_on_a_seed_of_its_own_is_replayed_on_that_seed(graded_toy, mine, monkeypatch) -> None:
    """A seed that failed these files before is tried first, and the record keeps it for that criterion alone."""
    board, replayed = graded_toy.workspace, []
    record = board.record(WRONG)
    rubric = board.challenge(CHALLENGE_ID)
    # on the run's own seed it passes: as if the fault showed on few inputs only
    whole = regrading._grade_again
    passing = forged(rubric, record, "values", "linear")
    monkeypatch.setattr(regrading, "_grade_again", lambda *given: (whole(*given)[0].model_copy(update=passing), False))
    other = record.evidence[0].model_copy(update={"seed": 5, "draws": Draws(planned=2, tried=2, failed=1)})
    changed(board, WRONG, evidence=(other, *record.evidence[1:]))
    again = regrading.replay
    monkeypatch.setattr(regrading, "replay", lambda *given: replayed.append(given[2]) or again(*given))
    (one,) = regrading.audit(mine, Board(board.root, mine), [SubmissionName("wrong", CHALLENGE_ID)])
    assert replayed == ["values"]
    assert one.criteria[0].verdict is AuditVerdict.SAME


def test_the_sample_follows_from_the_seed_and_grows_by_adding() -> None:
    names = [SubmissionName(f"m{number}", "c") for number in range(50)]
    assert sample(names, 5, 1) == sample(names[::-1], 5, 1) != sample(names, 5, 2)
    assert set(sample(names, 5, 1)) < set(sample(names, 9, 1))
    assert sample(names, 99, 1) == sorted(names, key=lambda name: name.order)


def test_exported_records_and_submissions_are_a_board_too(graded_toy, mine, tmp_path_factory) -> None:
    board = tmp_path_factory.mktemp("exported")
    shutil.copytree(graded_toy.workspace.records_folder, board / "records")
    shutil.copytree(graded_toy.workspace.submissions_folder, board / "submissions")
    assert {one.verdict for one in audited(mine, Workspace(board)).values()} == {AuditVerdict.SAME}
    with pytest.raises(NotFoundError, match="holds no records"):
        Board(board / "submissions", mine)


def test_what_is_no_record_is_refused_with_the_reason(graded_toy, mine) -> None:
    path = graded_toy.workspace.record_path("wrong", CHALLENGE_ID)
    for text in ("", "[" * 100_000, "{}", json.dumps({"schema_version": 99})):
        path.write_text(text)
        one = Board(graded_toy.workspace.root, mine).read(SubmissionName("wrong", CHALLENGE_ID))
        assert one.record is None and one.refused
