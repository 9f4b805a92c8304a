"""A snapshot holds regular files and refuses a folder that changes or holds more; numbers alike are told apart."""

import importlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import SpecError
from harness.sandbox import Array, Scalar, hash_folder, snapshot
from harness.sandbox.session.memory_file import MemoryFile
from harness.sandbox.session.returns import MalformedReply, Reader, outline, room


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


snapshots = importlib.import_module("harness.sandbox.session.snapshots")  # the package has a function of that name
PLAN = Array((1, 4), "float64")
ALIKE = [
    {"array": ["<f8", [1.0, 4], 0]},
    {"array": ["<f8", [True, 4], 0]},
    {"array": ["<f8", [1, 4], 0.0]},
    {"array": ["<f8", [1, 4], False]},
    {"array": ["<f8", [1, 4], -0.0]},
]


def read(claim, plan):
    size = room(plan)
    with MemoryFile.blank(size) as output:
        return Reader(output.fd, size).read(claim, plan, outline(plan, itertools.count(1)))


@pytest.mark.parametrize("claim", ALIKE)
def test_a_number_of_another_type_is_another_number(claim):
    # in JSON and in Python 1, 1.0 and true are equal, and are not the same shape or place
    assert read({"array": ["<f8", [1, 4], 0]}, PLAN).shape == (1, 4)
    with pytest.raises(MalformedReply):
        read(claim, PLAN)


@pytest.mark.parametrize(("claim", "kind"), [(True, int), (1, bool), (1, float), (1.0, int)])
def test_a_scalar_of_another_type_is_another_scalar(claim, kind):
    with pytest.raises(MalformedReply):
        read(claim, Scalar(kind, exact=True))


def test_a_file_that_becomes_a_link_while_it_is_copied_is_refused(tmp_path, monkeypatch):
    # between looking at a file and opening it, whoever owns the folder can put a link in its place
    (tmp_path / "answer.py").write_text("x = 1")
    listed = snapshots._paths

    def swapping(folder):
        for path in listed(folder):
            path.unlink()
            path.symlink_to("/etc/hostname")
            yield path

    monkeypatch.setattr(snapshots, "_paths", swapping)
    with pytest.raises(SpecError, match=r"answer\.py"), snapshot(tmp_path):
        pass


def test_a_copy_is_made_of_what_was_read_and_the_grader_stays_where_it_is(tmp_path):
    (tmp_path / "numpy.py").write_text("raise SystemExit")
    before = (list(sys.path), Path.cwd())
    with snapshot(tmp_path) as taken:
        (tmp_path / "numpy.py").write_text("changed")
        assert (taken.path / "numpy.py").read_text() == "raise SystemExit"
        assert (list(sys.path), Path.cwd()) == before and str(taken.path) not in os.environ.get("PYTHONPATH", "")
