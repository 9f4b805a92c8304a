"""`harness report --junit FILE --sarif FILE` writes both files beside the reports, or says why it cannot."""

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from harness.cli.main import main
from harness.workspace import Workspace

CHECKOUT = Workspace(Path(__file__).parents[2])


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with the bundled challenges and no records."""
    for id in CHECKOUT.challenges():
        (tmp_path / "challenges" / id).mkdir(parents=True)
        shutil.copy(CHECKOUT.challenge_folder(id) / "challenge.toml", tmp_path / "challenges" / id)
    monkeypatch.setenv("HARNESS_WORKSPACE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_record_is_in_both_files(place: Path) -> None:
    shutil.copytree(CHECKOUT.records_folder, place / "reports" / "records")
    shutil.copytree(CHECKOUT.submissions_folder / "baseline", place / "submissions" / "baseline", dirs_exist_ok=True)
    assert main(["report", "--junit", "out/junit.xml", "--sarif", "out/findings.sarif"]) == 0
    suites = {suite.get("name") for suite in ET.parse(place / "out" / "junit.xml").getroot()}
    assert suites == {record.name for record in CHECKOUT.records()}
    (run,) = json.loads((place / "out" / "findings.sarif").read_text())["runs"]
    found = {(r["properties"]["model"], r["ruleId"].partition("/")[0]) for r in run["results"]}
    assert found == {(record.model, record.challenge) for record in CHECKOUT.records() if record.findings}


def test_a_place_in_the_source_is_one_that_is_there(place: Path) -> None:
    shutil.copytree(CHECKOUT.records_folder, place / "reports" / "records")
    assert main(["report", "--sarif", "findings.sarif"]) == 0
    (run,) = json.loads((place / "findings.sarif").read_text())["runs"]
    linked = [r["locations"][0]["physicalLocation"] for r in run["results"]]
    assert any("region" in location for location in linked)
    published = {
        f"{answer.folder}/{name}": id
        for id in CHECKOUT.collections()
        for answer in CHECKOUT.collection(id).answers
        for name in answer.files
    }
    for location in linked:
        place_in = location["artifactLocation"]
        if place_in["uriBaseId"] in CHECKOUT.collections():
            assert published[place_in["uri"]] == place_in["uriBaseId"]
            continue
        lines = (CHECKOUT.root / place_in["uri"]).read_text().splitlines()
        assert location.get("region", {"startLine": 1})["startLine"] <= len(lines)


def test_nothing_graded_makes_empty_files(place: Path) -> None:
    assert main(["report", "--junit", "junit.xml", "--sarif", "findings.sarif"]) == 0
    assert ET.parse(place / "junit.xml").getroot().attrib["tests"] == "0"
    assert json.loads((place / "findings.sarif").read_text())["runs"][0]["results"] == []


@pytest.mark.parametrize("option", ["--junit", "--sarif"])
@pytest.mark.parametrize(("file", "code", "words"), [
    ("challenges", 2, "is a directory"),
    ("taken/file", 3, "taken/file: cannot be written"),
])  # fmt: skip
def test_a_file_that_cannot_be_written_is_told(
    place: Path, capsys: pytest.CaptureFixture[str], option: str, file: str, code: int, words: str
) -> None:
    (place / "taken").touch()
    assert main(["report", option, file]) == code
    err = capsys.readouterr().err
    assert words in err
    assert "Traceback" not in err
