"""Grades published as letters are shown as they stand and change no figure of any page."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import SpecError
from harness.report.inputs import ReportInputs, gather
from harness.report.mark_source import MarkSource
from harness.report.pages import LETTERS, SCOREBOARD, render_all
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


@pytest.mark.turns(4)
def test_without_letters_every_figure_is_the_same(bundled: ReportInputs) -> None:
    for source in MarkSource:
        having, lacking = (render_all(inputs, source) for inputs in (bundled, replace(bundled, letters=())))
        differing = {name for name in having if having[name] != lacking.get(name)}
        assert differing == ({LETTERS, SCOREBOARD} if source is MarkSource.PUBLISHED else set())
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
