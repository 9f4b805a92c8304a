"""A snapshot holds the submission's regular files, and refuses whatever else it meets."""

import os
import subprocess

import pytest

from harness.errors import SpecError
from harness.sandbox import hash_folder, snapshot


def test_a_snapshot_is_a_copy_without_caches_and_reviews(tmp_path):
    (tmp_path / "a.py").write_text("x = 1")
    for folder in ("reviews", "__pycache__", "sub"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "f.txt").write_text("t")
    with snapshot(tmp_path) as taken:
        assert sorted(taken.hashes) == ["a.py", "sub/f.txt"]
        assert taken.hashes == hash_folder(tmp_path)
        assert (taken.path / "sub" / "f.txt").read_text() == "t"
        place = taken.path
    assert not place.exists()


@pytest.mark.parametrize("make", [lambda p: os.symlink("/etc/hostname", p), os.mkfifo, lambda p: os.symlink("..", p)])
def test_links_and_special_files_are_refused_by_name(tmp_path, make):
    make(tmp_path / "odd")
    with pytest.raises(SpecError, match="odd: is a link or a special file"), snapshot(tmp_path):
        pass


def test_too_many_files_are_refused(tmp_path):
    for i in range(501):
        (tmp_path / f"{i}").touch()
    with pytest.raises(SpecError, match="500 files"):
        hash_folder(tmp_path)


@pytest.mark.parametrize(("name", "depth"), [("a", 250), ("a", 1200), ("a" * 200, 30)])
def test_folders_nested_without_end_are_refused(tmp_path, monkeypatch, name, depth):
    monkeypatch.chdir(tmp_path)
    for _ in range(depth):
        os.mkdir(name)
        os.chdir(name)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError, match="path of over 400 bytes"), snapshot(tmp_path):
        pass
    subprocess.run(["rm", "-rf", tmp_path / name], check=True)


NAMES = (
    b"\n.py",
    b"\x1b[31m.py",
    b"a" * 252 + b".py",
    "\u202e.py".encode(),
    b"-rf.py",
    b"$(id) `id`.py",
    b"\xff\xfe.py",
)


def test_odd_names_are_names(tmp_path):
    for name in NAMES:
        with open(os.fsencode(tmp_path) + b"/" + name, "w") as file:
            file.write("x = 1")
    with snapshot(tmp_path) as taken:
        assert sorted(map(os.fsencode, taken.hashes)) == sorted(NAMES)
        assert all((taken.path / name).read_text() == "x = 1" for name in taken.hashes)
