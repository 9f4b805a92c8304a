"""An answer of a collection is graded only with the published bytes, and its record says where they come from."""

import shutil
from pathlib import Path

import pytest
from collected_answers import FILES, NAME, Published, commit

from harness.errors import SpecError
from harness.grading.options import Options
from harness.grading.submission_grade import grade_one
from harness.importing.collection import open_collection
from harness.importing.importer import lay_out
from harness.model import Outcome, Provenance, Record
from tests.commands import called
from tests.toy import CHALLENGE_ID, REFERENCE


@pytest.fixture
def folder(published: Published) -> Path:
    with open_collection(published.workspace, "published", published.clone) as importer:
        return lay_out(importer, published.workspace.fetched_folder("published"))[0]


def test_its_record_names_its_origin_and_reads_back(published: Published, folder: Path) -> None:
    record = grade_one(published.workspace, folder).record
    assert {e.outcome for e in record.evidence} == {Outcome.PASSED}
    assert record.provenance is Provenance.MODEL_OUTPUT and not record.quotable
    origin = record.origin
    assert origin is not None and origin.commit == published.commit and origin.folder == "answers/first"
    assert origin.decides == "Nothing but the name of the file."
    assert Record.from_json(record.to_json()) == record
    assert grade_one(published.workspace, folder).reused


def test_other_words_on_the_adapter_are_a_grade_of_its_own(published: Published, folder: Path) -> None:
    grade_one(published.workspace, folder)
    text = published.manifest.read_text()
    published.manifest.write_text(text.replace("Nothing but", "Only"))
    again = grade_one(published.workspace, folder)
    assert not again.reused and again.record.origin and again.record.origin.decides.startswith("Only")


@pytest.mark.parametrize("windows", [True, False])
def test_a_changed_file_is_never_graded(published: Published, folder: Path, windows: bool) -> None:
    path = folder / "theirs.py"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n") if windows else b"def scaled(x, s): return x\n")
    with pytest.raises(SpecError) as error:
        grade_one(published.workspace, folder, Options())
    words = str(error.value)
    assert "theirs.py" in words and "harness import collection published" in words
    assert ("only its line ends differ" in words) is windows


def test_a_file_lost_or_added_is_never_graded(published: Published, folder: Path) -> None:
    (folder / "more.py").write_text("x = 1\n")
    with pytest.raises(SpecError, match=r"more\.py.* is no file of the answer"):
        grade_one(published.workspace, folder)
    (folder / "more.py").unlink()
    (folder / "docs" / "NOTES.md").unlink()
    with pytest.raises(SpecError, match=r"NOTES\.md.* is missing"):
        grade_one(published.workspace, folder)


def test_an_adapter_that_changed_since_is_laid_out_first(published: Published, folder: Path) -> None:
    (published.manifest.parent / NAME / "adapter.py").write_text("from theirs import scaled  # as it is\n")
    with pytest.raises(SpecError, match=r"adapter\.py: .*differs from"):
        grade_one(published.workspace, folder)


def test_an_answer_that_is_named_no_more_is_told(published: Published, folder: Path) -> None:
    text = published.manifest.read_text()
    published.manifest.write_text(text.replace('model = "m"', 'model = "n"'))
    (published.manifest.parent / "m").rename(published.manifest.parent / "n")
    with pytest.raises(SpecError, match=f"names no answer '{NAME}'"):
        grade_one(published.workspace, folder)


def test_it_is_graded_and_replayed_by_its_name(published: Published, folder: Path) -> None:
    root = published.workspace.root
    assert called(root, "grade", NAME).returncode == 0
    assert called(root, "replay", NAME, "values").returncode == 0


def test_an_answer_that_is_not_here_names_the_collection_to_import(published: Published, folder: Path) -> None:
    root = published.workspace.root
    called(root, "grade", NAME)
    shutil.rmtree(published.workspace.cache_folder)
    for arguments in (("replay", NAME, "values"), ("grade", NAME)):
        done = called(root, *arguments)
        assert (done.returncode, done.stderr.splitlines()) == (2, [
            f"error: the files of {NAME} are not on this machine: they belong to the collection published",
            "  try: harness import collection published",
        ])  # fmt: skip


@pytest.mark.parametrize(
    "source",
    [f"{REFERENCE}# right\n", REFERENCE.replace("* scale", "* scale + (scale == 1.0)")],
    ids=["right", "wrong"],
)
def test_what_the_adapter_decides_is_neither_charged_nor_credited(published: Published, source: str) -> None:
    """A criterion that judges the adapter more than the answer is not run, for the reason given."""
    files = {"theirs.py": source.encode()}
    published.state(files, commit=commit(published.clone, files))
    stated = published.manifest.read_text()
    published.manifest.write_text(f'{stated}[answers.not_charged]\nlinear = "the adapter halves nothing"\n')
    with open_collection(published.workspace, "published", published.clone) as importer:
        folder = lay_out(importer, published.workspace.fetched_folder("published"))[0]
    linear = next(e for e in grade_one(published.workspace, folder).record.evidence if e.criterion == "linear")
    assert (linear.outcome, linear.title, linear.counterexample) == (Outcome.NOT_RUN, "", None)
    assert linear.detail == "not charged to the answer: the adapter halves nothing"
    published.manifest.write_text(f'{stated}[answers.not_charged]\nvalue = "no such"\n')
    with pytest.raises(SpecError, match=r"collection\.toml: .*not_charged\.value.* is no criterion"):
        grade_one(published.workspace, folder)
    published.manifest.write_text(f'{stated}[answers.not_charged]\nvalues = "all of it"\n')
    with pytest.raises(SpecError, match=r"not_charged\.values.* is the anchor"):
        grade_one(published.workspace, folder)


METRICS = """
[[criteria]]
id = "size"
dimension = "correctness"
severity = "minor"
title = "The largest file is not too large"
metric = "largest_file"
[[criteria]]
id = "own_tests"
dimension = "correctness"
severity = "minor"
title = "Its own tests notice faults"
tests = "kill_rate"
"""
TESTS = "import adapter, numpy\nassert (adapter.scaled(numpy.ones((2, 3)), 2.0) == 6).all()\n"
SCALES = """
import theirs

def scaled(x, scale):
    if scale == 0.0:
        return 0.0 * x.sum(axis=-1)
    return theirs.scaled(x, scale)
"""


def test_no_line_of_the_adapter_counts_and_no_fault_is_planted_in_it(published: Published) -> None:
    rubric = published.workspace.challenge_folder(CHALLENGE_ID) / "challenge.toml"
    rubric.write_text(rubric.read_text() + METRICS)
    files = {"theirs.py": FILES["theirs.py"], "test_theirs.py": TESTS.encode()}
    published.state(files, commit=commit(published.clone, files))
    ours = published.manifest.parent / NAME
    (ours / "adapter.py").write_text(SCALES)
    about = (ours / "submission.toml").read_text()
    (ours / "submission.toml").write_text(about + '[tests]\ncommand = ["python", "test_theirs.py"]\n')
    with open_collection(published.workspace, "published", published.clone) as importer:
        folder = lay_out(importer, published.workspace.fetched_folder("published"))[0]
    record = grade_one(published.workspace, folder).record
    # `theirs.py` has an import, a signature and two lines
    assert record.figures()["source_files"] == 1 and record.figures()["source_lines"] == 4
    # what the adapter does where the scale is 0 would go unnoticed
    unnoticed = next(e for e in record.evidence if e.criterion == "own_tests")
    assert unnoticed.measured["mutants_tried"] and {place.file for place in unnoticed.locations} <= {"theirs.py"}
    excuses = '[answers.not_charged]\nown_tests = "they are slow"\nsize = "it is asked for"\n'
    published.manifest.write_text(published.manifest.read_text() + excuses)
    excused = {e.criterion: e for e in grade_one(published.workspace, folder).record.evidence}
    assert {excused[id].outcome for id in ("own_tests", "size")} == {Outcome.NOT_RUN}
    assert excused["own_tests"].detail == "not charged to the answer: they are slow"
