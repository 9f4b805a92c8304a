"""Grades published as letters are shown as they stand and change no figure of any page."""

from dataclasses import replace
from pathlib import Path

import pytest
import sample_records as sample

from harness.errors import SpecError
from harness.model import LetterGrades, Score
from harness.report.pages import AGAINST, LETTERS, SCOREBOARD, render_all
from harness.report.views.inputs import ReportInputs, gather
from harness.report.views.mark_source import MarkSource
from harness.report.views.published.letter_table import LetteredPair, PairOrder, letter_table
from harness.review.published import read_letters
from harness.workspace import Workspace

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bundled() -> ReportInputs:
    return gather(Workspace(ROOT))


def lettered(place: Path, grades: str) -> Workspace:
    folder = place / "reports" / "published"
    folder.mkdir(parents=True)
    (folder / "letters.toml").write_text(f"schema_version = 1\n\n{grades}", encoding="utf-8")
    (place / "challenges").symlink_to(ROOT / "challenges")
    return Workspace(place)


def test_every_letter_stands_in_its_cell(bundled: ReportInputs) -> None:
    lines = render_all(bundled, MarkSource.PUBLISHED)[LETTERS].splitlines()
    titles = next([cell.strip() for cell in line.split("|")] for line in lines if line.startswith("| Model"))
    for grades in bundled.letters:
        cells = next([c.strip() for c in line.split("|")] for line in lines if line.startswith(f"| {grades.model} |"))
        shown = dict(zip(titles, cells, strict=True))
        for challenge in bundled.challenges:
            wanted = grades.letters.get(challenge.id, "–")
            assert shown[challenge.title] == wanted, (grades.model, challenge.id)
    given = sum(len(grades.letters) for grades in bundled.letters)
    assert f"{given} of {len(bundled.letters) * len(bundled.challenges)} letters" in "\n".join(lines)


def test_which_letter_was_given_changes_no_other_page(bundled: ReportInputs) -> None:
    other = tuple(g.model_copy(update={"letters": dict.fromkeys(g.letters, "F")}) for g in bundled.letters)
    for source in MarkSource:
        given, worst = (render_all(inputs, source) for inputs in (bundled, replace(bundled, letters=other)))
        assert {name for name in given if given[name] != worst[name]} <= {LETTERS}


def test_without_letters_every_board_is_the_same(bundled: ReportInputs) -> None:
    for source in MarkSource:
        having, lacking = (render_all(inputs, source) for inputs in (bundled, replace(bundled, letters=())))
        differing = {name for name in having if having[name] != lacking.get(name)}
        assert differing == ({LETTERS, SCOREBOARD} if source is MarkSource.PUBLISHED else {AGAINST})
        pairs = zip(having[SCOREBOARD].splitlines(), lacking[SCOREBOARD].splitlines(), strict=True)
        assert [a for a, b in pairs if a != b and "letters.md" not in a] == []


@pytest.mark.parametrize(
    ("grades", "said"),
    [
        ('[[grades]]\nmodel = "m"\nletters = { kv_cache = "A++" }\n', "letters"),
        ('[[grades]]\nmodel = "m"\nletters = { kv_cash = "A" }\n', "kv_cache"),
        ('[[grades]]\nmodel = "m"\nletters = {}\n[[grades]]\nmodel = "m"\nletters = {}\n', "twice"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, grades: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        read_letters(lettered(tmp_path, grades))


def graded(letters: dict[str, str], marks: dict[str, float]) -> tuple[LetteredPair, ...]:
    """Letters and marks of some models on one challenge, pair by pair."""
    scores = {m: Score(score=mark, low=mark, high=mark, coverage=1) for m, mark in marks.items()}
    records = [
        sample.record(model, sample.RIGHT).model_copy(update={"overall": score}) for model, score in scores.items()
    ]
    grades = tuple(LetterGrades(model=model, letters={"kv_cache": letter}) for model, letter in letters.items())
    return letter_table(ReportInputs([sample.CHALLENGE], records, letters=grades)).pairs


def test_pairs_that_letters_and_marks_order_the_other_way_round_are_named_the_widest_first() -> None:
    found = graded({"a": "A", "b": "A-", "c": "B+", "d": "B+"}, {"a": 40, "b": 60, "c": 90, "d": 41})
    assert [(p.better.model, p.worse.model, p.lead) for p in found if p.order is PairOrder.OPPOSITE] == [
        ("a", "c", 50.0), ("b", "c", 30.0), ("a", "b", 20.0),
    ]  # fmt: skip
    (same,) = [p for p in found if p.order is PairOrder.SAME_LETTER]
    assert (same.better.model, same.worse.model, abs(same.lead)) == ("c", "d", 49)
    agreements = [p.order for p in found]
    assert (len(found), agreements.count(PairOrder.ALIKE), agreements.count(PairOrder.SAME_MARK)) == (6, 1, 1)


def test_a_letter_without_a_mark_is_in_no_pair() -> None:
    found = graded({"a": "A", "b": "B"}, {"a": 40})
    assert found == ()
