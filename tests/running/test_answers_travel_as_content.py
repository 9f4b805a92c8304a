"""An answer travels to a node as content: names are checked again there, and no path of the driver's is used."""

import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from harness.errors import JudgeError, NotFoundError, SpecError
from harness.executors.ray_cluster.cluster import ClusterNode
from harness.executors.ray_cluster.file_bundle import FileBundle
from harness.executors.ray_cluster.killed_workers import kills_its_worker
from harness.executors.ray_cluster.node_facts import NodeFacts, node_facts
from harness.executors.ray_cluster.slot import GradingSlot
from harness.executors.ray_cluster.work import TaskReader
from harness.executors.registry import EXECUTORS, new_executor
from harness.grading.job import prepare_job
from harness.grading.options import Options
from harness.grading.submission_grade import grade_one
from harness.model import Outcome, Status, TierChoice
from tests.commands import called
from tests.toy import CHALLENGE_ID


@pytest.mark.parametrize(
    "name",
    ["/etc/x", "../x", "a/../../x", "a/..", "a//b", "./a", "a/./b", "", "a\0b", "a\\..\\b", "x" * 700, 3, None, b"a"],
    ids=repr,
)
def test_a_name_that_leads_elsewhere_is_refused_before_anything_is_written(tmp_path: Path, name: Any) -> None:
    with pytest.raises(JudgeError, match="refused a bundle"):
        FileBundle({"good.py": b"x", name: b"y"}).lay_out(tmp_path / "place")
    assert not (tmp_path / "place").exists()


def test_a_name_cannot_be_a_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match="both a file and a folder"):
        FileBundle({"a": b"x", "a/b": b"y"}).lay_out(tmp_path / "place")


def test_what_is_sent_is_what_arrives(tmp_path: Path) -> None:
    files = {"answer.py": b"\0\xff", "deep/er/\u00e9 \udcff.txt": b"", "a.b": b"x" * 10_000}
    sent = pickle.loads(pickle.dumps(FileBundle(files).below("to")))
    sent.lay_out(tmp_path)
    assert {n: (tmp_path / "to" / n).read_bytes() for n in files} == files
    assert FileBundle.of({"to": tmp_path / "to"}).id == sent.id != FileBundle(files).id


def test_a_task_alone_is_enough_for_a_grade(toy: Any, submit: Any) -> None:
    """The slot of a node grades it in a workspace of its own, whose record is that of the driver's workspace."""
    folder = submit("m", toy.source())
    sent: list[FileBundle] = []
    reader = TaskReader(toy.workspace, Options(), sent.append)
    work = reader.read(folder)
    slot = GradingSlot(Options().to_json(), {})
    try:
        slot._surround = lambda task: sent[0].lay_out(slot._workspace.root)  # Ray is not asked for it
        here = node_facts("auto", ["python"])
        slot.begin(here["isolation"])
        said = json.loads(slot.grade(work.task)["record"])
        assert not list(slot._workspace.root.rglob("answer.py")), "nothing of an answer stays"
    finally:
        slot.close()
    where = ClusterNode("id", "name", 1, 0, NodeFacts(**here)).environments["python"]
    assert said["key"] == work.job.key_in(where) == grade_one(toy.workspace, folder).record.key
    assert said["environment"] == here["environments"]["python"] and not said["outside"]
    assert not slot._workspace.root.exists()


def test_a_node_says_its_tier_processor_and_tools(toy: Any) -> None:
    facts = NodeFacts(**node_facts("auto", ["python", "nonesuch"]))
    assert not facts.refusal and facts.unable is not None and "nonesuch" in facts.unable
    node = ClusterNode("id", "name", 2, 0, facts)
    assert node.usable_for("python") and not node.usable_for("nonesuch")
    chosen = TierChoice.model_validate_json(facts.isolation)
    assert node.environments["python"].isolation == chosen and node.environments["python"].cpu


def test_a_node_that_its_sandbox_does_not_hold_grades_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_TIER", "Z")
    facts = NodeFacts(**node_facts("auto", ["python"]))
    assert "names no tier" in facts.refusal
    assert not ClusterNode("id", "name", 1, 0, facts).usable_for("python")


def test_the_record_of_a_killed_worker_charges_one_fault(toy: Any, submit: Any) -> None:
    with prepare_job(toy.workspace, submit("m", toy.source()), Options(), copied=False) as job:
        record = kills_its_worker(job, job.environment, (), ["signal 9 on a", "signal 9 on b"])
        assert record.key == job.key
    assert (record.status, record.overall.score, record.reward) == (Status.GRADED, 0, 0)
    assert [(e.outcome, e.rests_on) for e in record.evidence] == [(Outcome.FAILED, None), (Outcome.FAILED, "values")]
    assert [finding.title for finding in record.findings] == ["kills its worker"]


def test_what_leaves_out_timing_is_another_grade(toy: Any, submit: Any) -> None:
    """Its record must not stand for one in which time was measured."""
    path = toy.workspace.challenge_folder(CHALLENGE_ID) / "probes.py"
    path.write_text(path.read_text().replace('@probe({"B": 4, "D": 5})', '@probe({"B": 4, "D": 5}, times=True)'))
    folder = submit("m", toy.source())
    untimed = grade_one(toy.workspace, folder, Options(untimed=True))
    assert [e.outcome for e in untimed.record.evidence] == [Outcome.PASSED, Outcome.NOT_RUN]
    timed = grade_one(toy.workspace, folder)
    assert not timed.reused and [e.outcome for e in timed.record.evidence] == [Outcome.PASSED, Outcome.PASSED]


def test_executors_are_known_by_name_in_one_place(toy: Any) -> None:
    assert set(EXECUTORS) == {"local", "ray"}
    with pytest.raises(NotFoundError, match="did you mean 'local'"):
        new_executor("locl", toy.workspace, Options())
    with pytest.raises(SpecError, match="local has none"):
        new_executor("local", toy.workspace, Options(), address="127.0.0.1:6379")
    done = called(toy.workspace.root, "grade", "--all", "--executor", "rye")
    assert done.returncode == 2 and "executors are local, ray" in done.stderr


def test_a_node_is_named_by_what_it_lacks(toy: Any) -> None:
    lacking = {"unable": {"cuda": "no C++ compiler"}, "missing": {"cuda": ["a", "b"]}, "environments": {}}
    node = ClusterNode("id", "host/1", 1, 0, NodeFacts("1", "s", "", **lacking))
    assert not node.usable_for("cuda") and node.missing("cuda") == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        node.facts.version = "2"  # type: ignore[union-attr,misc]
