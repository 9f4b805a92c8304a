"""A bad answer is a finding about it, and a broken challenge is no fault of an answer."""

import pytest

import harness
from harness.grading.options import Options
from harness.grading.submission_grade import grade_one
from harness.model import Outcome, Record, Status

HEAD = "import numpy as np, os, sys, time\n"
BUILD = {
    "does not import": ("import nothing_like_this", "nothing_like_this"),
    "syntax error": ("def scaled(x:", "SyntaxError"),
    "exits": ("raise SystemExit(0)", "SystemExit"),
    "exits hard": ("import os; os._exit(0)", "status 0"),
    "hangs": ("while True: pass", "no answer within"),
    "floods": ("while True: print('x' * 65536)", "printed more than"),
    "no function": ("def other(x, scale): pass", "'scaled'"),
    "not utf-8": ("\\x00", "does not load"),
    "empty": ("", "'scaled'"),
}
CALL = {
    "wrong shape": ("return x", "shape"),
    "wrong dtype": ("return x.sum(-1).astype('complex128')", "dtype complex128"),
    "too many": ("return x.sum(-1), x", "a tuple of 2"),
    "object": ("return np.array([object()] * len(x))", "dtype object"),
    "none": ("return None", "None instead of an array"),
    "nan": ("return x.sum(-1) * np.nan", "NaN"),
    "raises": ("raise RuntimeError('lost')", "lost"),
    "exits": ("sys.exit(0)", "SystemExit"),
    "crashes": ("os._exit(1)", "status 1"),
    "hangs": ("time.sleep(99)", "no answer within"),
    "floods": ("while True: print('x' * 65536)", "printed more than"),
    "memory": ("return np.ones(1 << 33)", "Memory"),
    "recursion": ("return scaled(x, scale)", "RecursionError"),
}
QUICK = Options(limits={"start_seconds": 2.0, "call_seconds": 1.0})


@pytest.mark.parametrize("name", BUILD)
def test_what_does_not_build_has_correctness_nought_and_says_why(toy, submit, name):
    source, words = BUILD[name]
    record = grade_one(toy.workspace, submit("m", source), QUICK).record
    assert record.status is Status.BUILD_FAILED
    assert record.dimensions["correctness"].score == 0 and record.overall.score <= 30
    title = "lacks functions that the contract names" if words == "'scaled'" else "does not load"
    assert (record.findings[0].criterion, record.findings[0].title) == ("build", title)
    assert words in f"{record.findings[0].title} {record.findings[0].detail}"


@pytest.mark.parametrize("name", CALL)
def test_what_goes_wrong_in_a_call_is_a_failed_criterion(toy, submit, name):
    body, words = CALL[name]
    record = grade_one(toy.workspace, submit("m", f"{HEAD}def scaled(x, scale):\n    {body}\n"), QUICK).record
    assert record.status is Status.GRADED
    values = next(e for e in record.evidence if e.criterion == "values")
    assert values.outcome is Outcome.FAILED and words in values.detail
    assert record.overall.score <= 59 and record.gates


def test_a_returned_view_is_as_good_as_a_copy(toy, submit):
    source = f"{HEAD}def scaled(x, scale):\n    return np.repeat(x.sum(-1) * scale, 2)[::2]\n"
    assert grade_one(toy.workspace, submit("m", source)).record.overall.score == 100


def test_a_file_name_that_is_no_text_does_not_stop_the_grade(toy, submit):
    folder = submit("m", toy.source())
    with open(bytes(folder) + b"/\xff\xfe.py", "w") as file:
        file.write("def f(x):\n" + "    x += 1\n" * 900 + "    return x\n")
    record = grade_one(toy.workspace, folder).record
    assert record.status is Status.GRADED
    assert Record.from_json(record.to_json()) == record


def test_the_bound_on_printing_is_for_one_call(toy, submit):
    chatty = toy.source().replace("def scaled(", "def _scaled(") + (
        "\n\ndef scaled(*args):\n    print('x' * 300_000, flush=True)\n    return _scaled(*args)\n"
    )
    assert grade_one(toy.workspace, submit("m", chatty)).record.status is Status.GRADED
    assert not [f for f in grade_one(toy.workspace, submit("m", chatty)).record.findings if "prints" in f.title]


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
