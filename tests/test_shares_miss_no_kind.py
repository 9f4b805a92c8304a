"""A share of a long corpus has some of every kind, is the same in every run, and another by another seed."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import shares
from tests.conftest import _tests_left_out


@given(st.lists(st.integers(0, 500), unique=True, min_size=1), st.integers(1, 40), st.integers(1, 7))
def test_no_kind_is_missing_and_the_order_stays(items: list[int], one_in: int, kinds: int) -> None:
    drawn = shares.share(items, one_in, lambda item: item % kinds, "seed")
    assert {item % kinds for item in drawn} == {item % kinds for item in items}
    assert [item for item in items if item in set(drawn)] == drawn


def test_a_share_has_the_size_asked_for() -> None:
    assert len(shares.share(range(1000), 10, drawn_by="seed")) == 100


def test_every_item_is_drawn_by_some_seed() -> None:
    drawn = [set(shares.share(range(60), 12, drawn_by=f"commit {n}")) for n in range(60)]
    assert set.union(*drawn) == set(range(60))


def test_every_run_draws_the_same_unless_a_seed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(shares.ALL, raising=False)
    monkeypatch.delenv(shares.SEED, raising=False)
    shares.seed.cache_clear()
    assert shares.share(range(40), 5) == shares.share(range(40), 5, drawn_by=shares.FIXED)
    monkeypatch.setenv(shares.SEED, "again")
    shares.seed.cache_clear()
    assert shares.share(range(40), 5) == shares.share(range(40), 5, drawn_by="again")
    assert f"{shares.SEED}=again" in shares.told()
    shares.seed.cache_clear()


def test_everything_is_taken_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(shares.ALL, "1")
    assert shares.share(range(40), 5) == list(range(40))
    assert shares.ALL in shares.told()


@dataclass(frozen=True)
class Node:
    """What pytest says of a test or a file."""

    nodeid: str
    marked: tuple["Node", ...] = ()

    @property
    def path(self) -> Path:
        return shares.CHECKOUT / self.nodeid.split("::")[0]

    def iter_markers_with_node(self, name: str) -> list[tuple["Node", pytest.Mark]]:
        return [(node, getattr(pytest.mark, name)(4).mark) for node in self.marked]


def test_one_in_so_many_tests_of_a_folder_has_its_turn_and_a_file_marked_whole_has_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(shares.ALL, raising=False)
    whole = Node("tests/folder/test_whole.py")
    of_whole = {Node(f"{whole.nodeid}::test_{n}", (whole,)) for n in range(5)}
    single = {Node(id, (Node(id),)) for id in (f"tests/folder/test_{n}.py::test" for n in range(7))}
    unmarked = Node("tests/folder/test_other.py::test")
    seen = set()
    for n in range(40):
        monkeypatch.setenv(shares.SEED, f"commit {n}")
        shares.seed.cache_clear()
        left_out = _tests_left_out(cast(list[pytest.Item], [*of_whole, *single, unmarked]))
        run = {node for node in (*of_whole, *single, unmarked) if node.nodeid not in left_out}
        seen |= run
        assert len(run & of_whole) in (0, 5)
        assert len(run & single) + bool(run & of_whole) == 2, "one in 4 of 8 turns"
        assert unmarked in run
    shares.seed.cache_clear()
    assert seen == {*of_whole, *single, unmarked}


def test_what_is_named_is_run_whosever_turn_it_is() -> None:
    file = "tests/reconstructions/test_the_baseline_kernel_has_no_fault.py"
    named = {f"{file}::test_every_probe_passes", f"{file}::test_only_the_outputs_are_written"}
    words = (sys.executable, "-m", "pytest", "--collect-only", "-n", "0", *named)
    said = subprocess.run(words, capture_output=True, text=True, check=True, cwd=shares.CHECKOUT)
    assert {line for line in said.stdout.splitlines() if line.startswith(file)} == named


def test_what_takes_too_long_for_every_run_has_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(shares.ALL, raising=False)
    turns = 0
    for n in range(400):
        monkeypatch.setenv(shares.SEED, f"commit {n}")
        shares.seed.cache_clear()
        turns += shares.has_turn("a name", 16)
    shares.seed.cache_clear()
    assert 8 <= turns <= 50, "of 400 draws at one in 16, 25 with a deviation of 5"
