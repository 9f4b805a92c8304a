"""A record of a profile says so, is never published or reused for another, and one bad folder ends no batch."""

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest
from cli_runs import ABOUT, ZEROS, Run, Submit

import harness
from harness.errors import SpecError, StoreError
from harness.model import Outcome, Status
from harness.store.record_store import Store
from harness.workspace import Workspace

BROKEN = "def softmax(:\n"


@pytest.fixture(autouse=True)
def _workspace(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_WORKSPACE", str(root))


def kept(root: Path) -> int:
    """How many records the store holds."""
    with sqlite3.connect(root / ".harness" / "records.sqlite") as store:
        return int(store.execute("SELECT count(*) FROM records").fetchone()[0])


def test_a_reward_is_one_for_a_right_answer_and_nothing_for_none(submit: Submit) -> None:
    folders = [submit("good"), submit("zeros", ZEROS), submit("broken", BROKEN)]
    good, zeros, broken = (harness.grade(folder, profile="reward") for folder in folders)
    assert (good.reward, zeros.reward, broken.reward) == (1, 0, 0)
    assert broken.status is Status.BUILD_FAILED
    assert [r.profile for r in (good, zeros, broken)] == ["reward"] * 3
    assert not any(r.ranked for r in (good, zeros, broken))


def test_a_profile_runs_what_gates_marks_and_nothing_else(submit: Submit, root: Path) -> None:
    folder = submit("good")
    rubric = Workspace(root).challenge("rows")
    gating = {c.id for c in rubric.criteria if c.gating}
    assert gating and gating != {c.id for c in rubric.criteria}
    for profile in ("correctness", "reward"):
        record = harness.grade(folder, profile=profile)
        assert {e.criterion for e in record.evidence if e.outcome.ran} == gating
    other = next(c.id for c in rubric.criteria if c.probes and not c.gating)
    record = harness.grade(folder, criteria=[other])
    assert {e.criterion for e in record.evidence if e.outcome.ran} == {rubric.anchor, other}
    assert record.only == (other,)
    assert {e.detail for e in record.evidence if not e.outcome.ran and "review" not in e.detail} == {"not selected"}
    assert not record.ranked


def test_a_criterion_or_profile_that_is_not_there_is_refused(submit: Submit, run: Run) -> None:
    folder = submit("good")
    with pytest.raises(SpecError, match="no criterion 'valuez' that is run; did you mean 'values'"):
        harness.grade(folder, criteria=["valuez"])
    with pytest.raises(SpecError, match="did you mean 'reward'"):
        harness.grade(folder, profile="rewards")
    done = run("grade", "good", "--profile", "rewards")
    assert done.returncode == 2
    assert "did you mean 'reward'?" in done.stderr


def test_the_record_of_one_profile_is_never_taken_for_another(submit: Submit, root: Path) -> None:
    folder = submit("good")
    full = harness.grade(folder, publish=True)
    published = (root / "reports" / "records" / "rows" / "good.json").read_bytes()
    brief = harness.grade(folder, profile="reward", publish=True)
    assert brief.key != full.key
    assert (root / "reports" / "records" / "rows" / "good.json").read_bytes() == published
    with pytest.raises(StoreError, match="profile reward is not published"):
        Store(Workspace(root)).publish(brief)
    assert harness.grade(folder, profile="reward") == brief
    assert harness.grade(folder) == full


def test_a_grade_cut_off_has_no_reward_and_is_made_again(submit: Submit) -> None:
    folder = submit("good")
    late = harness.grade(folder, profile="reward", seconds=1e-6)
    assert late.cut_off
    assert (late.reward, late.status, late.ranked) == (None, Status.GRADED, False)
    assert {e.outcome for e in late.evidence} == {Outcome.NOT_RUN}
    again = harness.grade(folder, profile="reward", seconds=600)
    assert (again.cut_off, again.reward) == (False, 1)


def test_a_bad_folder_is_a_record_in_its_place(submit: Submit, tmp_path: Path) -> None:
    linked = submit("linked")
    (linked / "more.py").symlink_to("/etc/hostname")
    misspelt = submit("misspelt", about=ABOUT + "entri = 1\n")
    folders = [submit("zeros", ZEROS), linked, tmp_path / "nowhere", misspelt, submit("good")]
    records = harness.grade_many(folders, profile="reward", jobs=2)
    assert [r.reward for r in records] == [0, 0, None, None, 1]
    assert [r.model for r in records] == ["zeros", "linked", "unknown", "unknown", "good"]
    assert records[1].build is not None
    assert records[1].build.stage == "files"
    assert "is a link" in records[1].build.text
    assert "is no folder" in str(records[2].error)
    with pytest.raises(SpecError, match="is a link"):
        harness.grade_many(folders, profile="reward", on_error="raise")


def test_a_stream_yields_before_all_is_done(submit: Submit, root: Path) -> None:
    folders = [submit("zeros", ZEROS), submit("good")]
    stream = harness.grade_stream(folders, profile="reward", jobs=1)
    first = next(stream)
    assert (first.model, kept(root)) == ("zeros", 1)
    stream.close()
    assert kept(root) == 1


def test_an_event_loop_goes_on_meanwhile(submit: Submit) -> None:
    folders = [submit("good"), submit("zeros", ZEROS)]

    async def beside() -> tuple[list[harness.Record], int]:
        grading = asyncio.ensure_future(harness.grade_many_async(folders, profile="reward", jobs=1))
        turns = 0
        while not grading.done():
            await asyncio.sleep(0.01)
            turns += 1
        return await grading, turns

    records, turns = asyncio.run(beside())
    assert [r.reward for r in records] == [1, 0]
    assert turns > 3


def test_the_command_says_what_was_run(submit: Submit, run: Run, root: Path) -> None:
    submit("good")
    done = run("grade", "good", "--profile", "reward", "--json")
    (record,) = json.loads(done.stdout)
    assert (record["profile"], record["reward"], record["only"]) == ("reward", 1.0, [])
    assert "not published, because only a part of the criteria was run: good/rows" in done.stderr
    assert not (root / "reports").exists()
    table = run("grade", "good", "--profile", "reward").stdout
    assert "reward" in table
    assert "1.00" in table
