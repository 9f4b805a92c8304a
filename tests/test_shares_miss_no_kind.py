"""A share of a long corpus has some of every kind, is the same in every run, and another by another seed."""

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


def test_one_of_each_kind_is_for_every_run() -> None:
    names = [f"{kind}{n}" for kind in "abc" for n in range(9)]
    assert sorted(name[0] for name in shares.one_of_each(names, lambda name: name[0] if name[0] != "c" else None)) == [
        "a",
        "b",
    ]


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


def test_short_functions_run_whole_and_of_longer_ones_a_share_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(shares.ALL, raising=False)
    measured = {"many": 10.0, "long": 20.0, "short": 4.0, "few": 8.0}
    monkeypatch.setattr(shares, "seconds_of_functions", lambda: measured)
    cases = [f"{n}" for n in range(40)]
    seen, turns = set(), 0
    for n in range(400):
        monkeypatch.setenv(shares.SEED, f"seed {n}")
        shares.seed.cache_clear()
        drawn = shares.cases_of_turn("many", cases)
        assert len(drawn) == 2, "a quarter of a second each, half a second in all"
        seen |= drawn
        turns += shares.cases_of_turn("long", ["alone"]) == {"alone"}
        assert len(shares.cases_of_turn("few", ["one", "other"])) == 1
        assert shares.cases_of_turn("short", cases) == shares.cases_of_turn("unknown", cases) == {*cases}
    shares.seed.cache_clear()
    assert seen == {*cases}
    assert 1 <= turns <= 30, "of 400 runs one in 40, with a deviation of 3.1"


def test_every_function_whose_time_is_known_is_still_there() -> None:
    for name in shares.seconds_of_functions():
        file, *_, function = name.split("::")
        assert f"def {function}(" in (shares.CHECKOUT / file).read_text(), f"run tests/seconds.py anew: {name}"


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
