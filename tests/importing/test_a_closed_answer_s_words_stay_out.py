"""The record of an answer that may not be passed on holds places, kinds of errors, figures, and none of its words."""

import html
import re
import shutil
from pathlib import Path

import pytest
from collected_answers import FILES, NAME, Published, commit

import harness
from harness.grading.redaction import WITHHELD, Withheld
from harness.grading.submission_grade import grade_one
from harness.importing.collection import open_collection
from harness.importing.importer import lay_out
from harness.model import Outcome, Record, Status
from harness.report.exports.junit import junit
from harness.report.exports.sarif import sarif
from harness.report.pages import render_all
from harness.report.views.inputs import gather
from tests.commands import called
from tests.toy import CHALLENGE_ID

WORDS = "the rows of this matrix do not add up"
RAISES = f'''
import numpy as np

def scaled(x, scale):
    """Adds every row from the left to the right, one by one."""
    total = sum(x[:, column] for column in range(x.shape[1]))
    if x.shape[0] > 1:
        raise ArithmeticError("{WORDS}: " + str(len(total)))
    return total * scale
'''
BROKEN = """
import numpy as np
print("A line that the module prints while it is loaded")
def scaled(x, scale) return x.sum(axis=-1) * scale_of_all_rows
"""


def graded(published: Published, source: str, *, redistribute: bool) -> Record:
    files = {**FILES, "theirs.py": source.encode()}
    published.state(files, commit=commit(published.clone, files), redistribute=redistribute)
    with open_collection(published.workspace, "published", published.clone) as importer:
        folder = lay_out(importer, published.workspace.fetched_folder("published"))[0]
    return grade_one(published.workspace, folder).record


def everything_shown(published: Published) -> str:
    """All that is stored, and all that is shown of it, in every format."""
    root = published.workspace.root
    inputs = gather(published.workspace)
    shown = [called(root, "show", NAME, "--format", kind).stdout for kind in ("table", "md", "json", "csv")]
    pages = [*render_all(inputs).values(), junit(inputs.records), sarif(inputs.challenges, inputs.records, "0")]
    stored = published.workspace.record_path(*NAME.split("/")).read_text()
    text = "\n".join([stored, *shown, *pages])
    return f"{text}\n{html.unescape(re.sub(r'<[^>]*>', '', text))}"


@pytest.mark.parametrize("closed", [True, False])
def test_no_line_and_no_message_is_stored_or_shown(published: Published, closed: bool) -> None:
    record = graded(published, RAISES, redistribute=not closed)
    failed = next(e for e in record.evidence if e.criterion == "values")
    assert failed.outcome is Outcome.FAILED and failed.title == "`scaled` raises ArithmeticError"
    assert [(p.file, p.line) for p in failed.locations] == [("theirs.py", 8)]
    shown = everything_shown(published)
    assert (WORDS in shown) is not closed
    assert ("total = sum(x[:, column] for column in range(x.shape[1]))" in shown) is not closed
    assert (WITHHELD in shown) is closed
    assert "theirs.py:8" in shown


@pytest.mark.parametrize("closed", [True, False])
def test_what_does_not_load_leaves_the_kind_and_the_place(published: Published, closed: bool) -> None:
    record = graded(published, BROKEN, redistribute=not closed)
    assert record.status is Status.BUILD_FAILED and record.build is not None
    assert "SyntaxError" in record.build.text
    assert [(p.file, p.line) for p in record.build.locations] == [("theirs.py", 4)]
    assert ("def scaled(x, scale) return x.sum" in everything_shown(published)) is not closed


@pytest.mark.parametrize("framed", ["   12 | {}", "{}", "      | {}", ">   {}"])
def test_an_excerpt_is_dropped_and_its_pointer_with_it(framed: str) -> None:
    line = "float best = row[0];"
    said = f'a.cu(12): error: identifier "best" is undefined\n{framed.format("  " + line)}\n      |       ^~~~\nends'
    held = Withheld([f"void f() {{\n  {line}\n}}\n"])
    assert held.of(said) == 'a.cu(12): error: identifier "best" is undefined\nends'


def test_words_of_our_own_and_names_stay_whole() -> None:
    held = Withheld(["def decode_with_all_of_the_cache(cache):  # no mask\n    return attend(cache.keys - 1.0)\n"])
    ours = (
        "`decode` raises IndexError", "row 3 of 4 is wrong", "", "agrees with `no mask`", "`1.0` -> `2.0`",
        "longest: answer.py:12 decode_with_all_of_the_cache",
    )  # fmt: skip
    for words in ours:
        assert held.of(words) == words


def test_a_phrase_of_ours_stays_although_the_answer_has_it_too() -> None:
    texts = ["Each step is attention over the whole history of the sequence, mask included."]
    ours = "a decode differs from attention over the whole history"
    assert WITHHELD in Withheld(texts).of(ours)
    assert Withheld(texts, own=f'TITLE = "{ours}"').of(ours) == ours


def test_what_is_withheld_ends_at_whole_words() -> None:
    held = Withheld(["void f(int a, float *b, float *c);\n\nx = 90 void f(int a, float *b"])
    assert held.of("answer.cu:190 void f(int a, float *b)") == f"answer.cu:190 {WITHHELD})"


def test_a_quoted_expression_is_withheld_however_short() -> None:
    held = Withheld(["def centred(x, m):\n    return x - m\n"])
    assert held.of("answer.py:2 `x - m` -> `x`") == f"answer.py:2 `{WITHHELD}` -> `x`"


def test_an_adapter_that_fails_is_our_failure(published: Published, tmp_path: Path) -> None:
    (published.manifest.parent / NAME / "adapter.py").write_text("from theirs import scaled, doubled\n")
    with open_collection(published.workspace, "published", published.clone) as importer:
        folder = lay_out(importer, published.workspace.fetched_folder("published"))[0]
    record = grade_one(published.workspace, folder).record
    assert record.status is Status.JUDGE_ERROR and record.build is None
    assert "the adapter, which is no part of the answer, does not build: ImportError" in str(record.error)
    assert {e.outcome for e in record.evidence} == {Outcome.JUDGE_ERROR}
    assert record.overall.score is None


def test_an_adapter_without_its_package_says_what_to_install(published: Published) -> None:
    needs = (
        "try:\n    import no_such_package\nexcept ImportError as missing:\n"
        "    raise ImportError(\"the answer needs it: pip install 'kernel-harness[mlx]'\") from missing\n"
        "from theirs import scaled\n"
    )
    (published.manifest.parent / NAME / "adapter.py").write_text(needs)
    with open_collection(published.workspace, "published", published.clone) as importer:
        folder = lay_out(importer, published.workspace.fetched_folder("published"))[0]
    record = grade_one(published.workspace, folder).record
    assert record.status is Status.JUDGE_ERROR and record.build is None
    assert "the answer needs it: pip install 'kernel-harness[mlx]'" in str(record.error)


def test_what_our_adapter_alone_raises_is_not_charged(published: Published) -> None:
    """Its line is named, and the criterion is not run."""
    raises = "from theirs import scaled as theirs\n\n\ndef scaled(x, scale):\n    return [][int(scale)]\n"
    (published.manifest.parent / NAME / "adapter.py").write_text(raises)
    with open_collection(published.workspace, "published", published.clone) as importer:
        folder = lay_out(importer, published.workspace.fetched_folder("published"))[0]
    record = grade_one(published.workspace, folder).record
    told = [e for e in record.evidence if "our adapter does not serve what is asked of `scaled`: " in e.detail]
    assert told, [e.outcome for e in record.evidence]
    assert all("adapter.py:5" in e.detail and not e.locations for e in told)
    assert {e.outcome for e in told} == {Outcome.NOT_RUN}


def test_what_the_answer_does_wrong_is_charged_beside_what_our_adapter_raises(published: Published) -> None:
    """A criterion fed by two probes, of which our adapter fails the one and the answer's values the other."""
    rubric = published.workspace.challenge_folder(CHALLENGE_ID) / "challenge.toml"
    both = 'probes = ["rows_match_the_oracle", "doubling_doubles"]'
    rubric.write_text(rubric.read_text().replace('probes = ["rows_match_the_oracle"]', both))
    raises = (
        "def scaled(x, scale):\n    if scale == 3.0:\n        return [][0]\n"
        "    import theirs\n    return theirs.scaled(x, scale) ** 2\n"
    )
    (published.manifest.parent / NAME / "adapter.py").write_text(raises)
    with open_collection(published.workspace, "published", published.clone) as importer:
        folder = lay_out(importer, published.workspace.fetched_folder("published"))[0]
    values = next(e for e in grade_one(published.workspace, folder).record.evidence if e.criterion == "values")
    assert (values.outcome, values.title, values.also) == (Outcome.FAILED, "is not linear", ())
    assert not values.locations


@pytest.mark.parametrize("power", [1, 2])
def test_a_case_that_our_adapter_does_not_serve_leaves_the_others_to_judge(published: Published, power: int) -> None:
    """Two rows are not served: six decide whether the criterion passes, and a note says what was left out."""
    probes = published.workspace.challenge_folder(CHALLENGE_ID) / "probes.py"
    probes.write_text(probes.read_text().replace('{"B": 6, "D": 40}', '{"B": 2, "D": 3}, {"B": 6, "D": 40}'))
    serves = (
        "import theirs\n\n\ndef scaled(x, scale):\n    if len(x) == 2:\n        raise NotImplementedError('two rows')\n"
        f"    return theirs.scaled(x, scale) ** {power}\n"
    )
    (published.manifest.parent / NAME / "adapter.py").write_text(serves)
    with open_collection(published.workspace, "published", published.clone) as importer:
        folder = lay_out(importer, published.workspace.fetched_folder("published"))[0]
    values = next(e for e in grade_one(published.workspace, folder).record.evidence if e.criterion == "values")
    assert values.outcome is (Outcome.PASSED if power == 1 else Outcome.FAILED)
    words = "without what our adapter does not serve: `scaled`: NotImplementedError: two rows (adapter.py:6)"
    noted = words in values.detail
    assert noted is (power == 1)


def test_an_answer_that_fails_behind_its_adapter_is_the_answers_failure(published: Published) -> None:
    record = graded(published, "import numpy\nscaled = numpy.no_such_function\n", redistribute=False)
    assert record.status is Status.BUILD_FAILED
    assert record.build and [p.file for p in record.build.locations] == ["theirs.py"]


@pytest.mark.parametrize("fetched", [True, False])
def test_what_a_reader_should_know_is_beside_the_marks(published: Published, fetched: bool) -> None:
    graded(published, f"{FILES['theirs.py'].decode()}\n", redistribute=False)
    if not fetched:
        shutil.rmtree(published.workspace.fetched_folder("published"))
    root, inputs = published.workspace.root, gather(published.workspace)
    pages = render_all(inputs)
    shown = [called(root, "show", NAME, "--format", kind).stdout for kind in ("table", "md")]
    facts = (
        published.workspace.collection("published").commit, "none stated", "Nothing but the name of the file.",
        "Open an issue.", "they may not be passed on", f"harness {harness.__version__}",
    )  # fmt: skip
    for text in (*shown, pages[f"{CHALLENGE_ID}.md"], pages["index.html"]):
        plain = " ".join(html.unescape(text).replace("\\", "").split())
        for fact in facts:
            assert fact in plain, fact
        assert (f"harness {harness.__version__}, not re-run here" in plain) is not fetched
    assert 'value="adapter.py, no line of it counted. Nothing but' in junit(inputs.records)


REVIEW = """
model = "m"
challenge = "scaled_sum"
overall = 80
marks = []
[reviewer]
kind = "published"
id = "round-1"
date = "2026-04"
"""


def test_published_reviews_lie_beside_the_adapter_and_reviews_of_the_closed_files_stay_local(
    published: Published,
) -> None:
    graded(published, RAISES, redistribute=False)
    for folder in (published.manifest.parent / NAME, published.folder):
        (folder / "reviews").mkdir()
        (folder / "reviews" / "one.toml").write_text(REVIEW)
    assert [review.overall for review in gather(published.workspace).reviews] == [80]
