"""In a batch, a challenge whose own files fail is a judge error: an answer is blamed for its own files only."""

import harness
from harness.model import Status


def test_probes_that_do_not_import_are_a_judge_error(toy, submit):
    folder = submit("m", toy.source())
    (toy.workspace.challenge_folder("scaled_sum") / "probes.py").write_text("raise OSError('no disk')\n")
    (record,) = harness.grade_many([folder], workspace=toy.workspace.root, profile="reward", jobs=1)
    assert (record.status, record.reward) == (Status.JUDGE_ERROR, None)
    assert "no disk" in record.error


def test_a_link_among_its_files_is_the_answers_own_fault(toy, submit):
    folder = submit("m", toy.source())
    (folder / "more.py").symlink_to("answer.py")
    (record,) = harness.grade_many([folder], workspace=toy.workspace.root, profile="reward", jobs=1)
    assert (record.status, record.reward) == (Status.BUILD_FAILED, 0.0)
