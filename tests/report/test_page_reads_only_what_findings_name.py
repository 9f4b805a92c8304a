"""Of a submission's files the page reads those at which findings point, inside its folder, and no others."""

import sample_records as sample

from harness.model import Location
from harness.report.views.excerpts import MAX_BYTES, cited_files, excerpts
from harness.workspace import Workspace


def at(*places: tuple[str, int]) -> tuple[Location, ...]:
    return tuple(Location(file=file, line=line) for file, line in places)


def pointing(*places: tuple[str, int]):
    return sample.record(outcomes=sample.RIGHT | {"causality": sample.FUTURE | {"locations": at(*places)}})


def folder(tmp_path):
    place = tmp_path / "submissions" / "glm-5" / "kv_cache"
    (place / "src").mkdir(parents=True)
    return place


def test_only_files_at_which_findings_point_are_read(tmp_path):
    place = folder(tmp_path)
    (place / "src" / "a.py").write_text("one\ntwo\n")
    (place / "b.py").write_text("three\n")
    assert cited_files(Workspace(tmp_path).folder_of, [pointing(("src/a.py", 2))]) == {
        "glm-5/kv_cache": {"src/a.py": "one\ntwo\n"}
    }


def test_nothing_outside_the_folder_is_read(tmp_path):
    place = folder(tmp_path)
    (tmp_path / "secret.py").write_text("secret\n")
    (place / "link.py").symlink_to(tmp_path / "secret.py")
    (place / "away").symlink_to(tmp_path)
    (place / "large.py").write_text("x" * (MAX_BYTES + 1))
    names = ("link.py", "away/secret.py", "large.py", "src")
    assert cited_files(Workspace(tmp_path).folder_of, [pointing(*((name, 1) for name in names))]) == {}


def test_a_file_that_is_no_text_is_shown_as_far_as_it_is(tmp_path):
    (folder(tmp_path) / "a.py").write_bytes(b"\xff\xfe = 1\n")
    found = cited_files(Workspace(tmp_path).folder_of, [pointing(("a.py", 1))])
    (excerpt,) = excerpts(at(("a.py", 1)), found["glm-5/kv_cache"])
    assert excerpt.text.partition("\n")[0] == "\ufffd\ufffd = 1"


def test_a_line_that_is_not_there_shows_nothing():
    whole_file = Location(file="a.py")
    assert excerpts((*at(("a.py", 3), ("a.py", 99999999), ("b.py", 1)), whole_file), {"a.py": "one\ntwo"}) == ()


def test_each_place_is_shown_once_and_few_of_them():
    text = "\n".join(map(str, range(100)))
    shown = excerpts(at(("a.py", 5), ("a.py", 5), *(("a.py", n) for n in range(10, 90, 10))), {"a.py": text})
    assert [e.number for e in shown] == [5, 10, 20, 30]
