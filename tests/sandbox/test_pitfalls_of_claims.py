"""Numbers that only look alike are told apart, and a folder that changes while it is copied is refused."""

import importlib
import itertools
import os
import sys
from pathlib import Path

import pytest

from harness.errors import SpecError
from harness.sandbox import Array, Scalar, snapshot
from harness.sandbox.session.memory_file import MemoryFile
from harness.sandbox.session.returns import MalformedReply, Reader, outline, room

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
