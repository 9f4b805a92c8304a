"""A share of a long corpus has some of every kind, is the same for the same seed, and another for another commit."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import shares


@given(st.lists(st.integers(0, 500), unique=True, min_size=1), st.integers(1, 40), st.integers(1, 7))
def test_no_kind_is_missing_and_the_order_stays(items: list[int], one_in: int, kinds: int) -> None:
    drawn = shares.share(items, one_in, lambda item: item % kinds, "seed")
    assert {item % kinds for item in drawn} == {item % kinds for item in items}
    assert [item for item in items if item in set(drawn)] == drawn


def test_a_share_has_the_size_asked_for() -> None:
    assert len(shares.share(range(1000), 10, drawn_by="seed")) == 100


def test_every_item_is_drawn_by_some_commit() -> None:
    drawn = [set(shares.share(range(60), 12, drawn_by=f"commit {n}")) for n in range(60)]
    assert set.union(*drawn) == set(range(60))


def test_the_seed_is_the_commit_and_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(shares.SEED, raising=False)
    monkeypatch.delenv(shares.ALL, raising=False)
    shares.seed.cache_clear()
    words = ("git", "-C", str(shares.CHECKOUT), "rev-parse", "HEAD")
    commit = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    assert commit.startswith(shares.seed()) or shares.seed() == "no-commit"
    monkeypatch.setenv(shares.SEED, "again")
    shares.seed.cache_clear()
    assert shares.seed() == "again"
    assert shares.share(range(40), 5) == shares.share(range(40), 5, drawn_by="again")
    assert f"{shares.SEED}=again" in shares.told()
    shares.seed.cache_clear()


def test_everything_is_taken_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(shares.ALL, "1")
    assert shares.share(range(40), 5) == list(range(40))
    assert shares.ALL in shares.told()


def test_a_file_with_turns_runs_one_of_them_and_all_that_are_named() -> None:
    file = "tests/challenges/test_softmax_topk_sizes_are_searched.py"

    def collected(*named: str) -> set[str]:
        environment = {**os.environ, shares.SEED: "seed"}
        environment.pop(shares.ALL, None)
        words = (sys.executable, "-m", "pytest", "--collect-only", "-n", "0", *named)
        said = subprocess.run(words, capture_output=True, text=True, check=True, cwd=shares.CHECKOUT, env=environment)
        return {line for line in said.stdout.splitlines() if line.startswith(file)}

    by_turns = collected(file)
    every = (shares.CHECKOUT / file).read_text(encoding="utf-8").count("\ndef test_")
    assert 1 <= len(by_turns) < every
    named = sorted(by_turns)[0], f"{file}::test_a_row_is_missed_however_far_behind_it_lies"
    assert collected(*named) == {*named}


def test_what_takes_too_long_for_every_run_has_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(shares.ALL, raising=False)
    turns = 0
    for n in range(400):
        monkeypatch.setenv(shares.SEED, f"commit {n}")
        shares.seed.cache_clear()
        turns += shares.has_turn("a name", 16)
    shares.seed.cache_clear()
    assert 8 <= turns <= 50, "of 400 draws at one in 16, 25 with a deviation of 5"
