"""Any review survives being written as TOML and read again, and the one in the documentation is one."""

import datetime
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.model import Mark, Preference, Quote, Review, Reviewer, ReviewerKind
from harness.model.manifest import read_toml
from harness.review.files import as_toml

# what UTF-8 can hold: control characters, line ends of all kinds and the upper planes, but no halves of a pair
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40) | st.just("a." * 40 + 'b = "1"')
FIGURE = st.floats(0, 100)
NAME = st.from_regex(r"\A[a-z0-9][a-z0-9._-]{0,20}\Z")
FILE = st.sampled_from(["answer.py", "folder/a b.md", 'quo"te.md'])
COUNT = st.integers(0, 25)
MARK = st.builds(
    Mark,
    target=NAME,
    mark=FIGURE,
    remark=st.just("") | TEXT,
    quotes=st.lists(st.builds(Quote, file=FILE, text=TEXT), max_size=3).map(tuple),
    repeats=st.lists(FIGURE, max_size=3).map(tuple),
)
PREFERENCE = st.builds(
    Preference, target=NAME, other=NAME, wins=COUNT, losses=COUNT, ties=COUNT, undecided=st.booleans()
)
REVIEWER = st.builds(
    Reviewer,
    kind=st.sampled_from(ReviewerKind),
    id=NAME,
    date=st.dates(datetime.date(2000, 1, 1)) | st.just("2026-04"),
    prompt_hash=st.none() | NAME,
)
REVIEW = st.builds(
    Review,
    schema_version=st.just(1),
    model=NAME,
    challenge=NAME,
    reviewer=REVIEWER,
    marks=st.lists(MARK, max_size=3).map(tuple),
    preferences=st.lists(PREFERENCE, max_size=3).map(tuple),
    remark=st.just("") | TEXT,
    overall=st.none() | FIGURE,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reviews") / "one.toml"


@settings(max_examples=50)
@given(REVIEW)
def test_what_is_written_reads_back_equal(path: Path, review: Review) -> None:
    path.write_text(as_toml(review), encoding="utf-8")
    assert read_toml(path, Review) == review


def test_the_example_of_the_documentation_is_a_review(path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "reviews.md"
    (example,) = re.findall(r"(?s)```toml\n(.*?)```", page.read_text())
    path.write_text(example)
    review = read_toml(path, Review)
    assert set(review.model_fields_set) >= {"marks", "preferences", "remark"}
    assert set(review.marks[0].model_fields_set) == set(Mark.model_fields)
