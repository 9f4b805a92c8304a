"""The strongest tier that works is used; one that is named is used or refused; nothing is graded where none works."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import PrerequisiteError
from harness.model import Tier
from harness.sandbox.session.tiers import FORCED, PERMITTED, choose, why_not

DENIED = (sys.executable, str(Path(__file__).with_name("without_namespaces.py")))
NOTHING = (*DENIED, "--no-fence")
DETECT = """
from harness.sandbox import detect
from harness.sandbox import self_test
from harness.errors import PrerequisiteError
try:
    tier = detect()
    tried = f": {len(self_test.ATTACKS)} ways out tried, open: {self_test.breaches(tier)}" if tier.trusted else ""
    print(tier + tried)
except PrerequisiteError as error:
    print(f"refused: {error}")
"""
HELD = "15 ways out tried, open: ()"


def chosen(*before: str, **environment: str) -> str:
    """What is chosen in a process of its own, started by the words `before`."""
    clean = {name: value for name, value in os.environ.items() if name not in (FORCED, PERMITTED)}
    done = subprocess.run(
        [*before, sys.executable, "-c", DETECT], env=clean | environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_strongest_that_works_is_chosen_and_holds():
    strongest = next(tier for tier in Tier if why_not(tier) is None)
    assert chosen() == f"{strongest}: {HELD}"


def test_a_tier_that_is_named_is_used(tier):
    assert chosen(**{FORCED: tier}) == (f"{tier}: {HELD}" if tier.trusted else tier)


@pytest.mark.parametrize("name", ["D", "a", "A,B", "UNSAFE"])
def test_a_name_that_is_none_is_refused(name, monkeypatch):
    monkeypatch.setenv(FORCED, name)
    with pytest.raises(PrerequisiteError, match=f"{FORCED}='{name}' names no tier; they are A, B, C, unsafe"):
        choose.__wrapped__()


def test_without_namespaces_the_third_tier_is_chosen_and_holds():
    assert chosen(*DENIED) == f"C: {HELD}"


@pytest.mark.parametrize("name", ["A", "B"])
def test_a_tier_that_is_named_and_does_not_work_is_refused_with_its_reason(name):
    said = chosen(*DENIED, **{FORCED: name})
    assert said.startswith(f"refused: {FORCED}={name}: tier {name} does not work here: ") and "try:" in said
    assert "root" in said or "namespace" in said or "bwrap" in said


def test_without_bubblewrap_the_third_tier_is_chosen():
    assert chosen(PATH="/nowhere").startswith("C: ")


def test_where_nothing_holds_nothing_is_graded():
    said = chosen(*NOTHING)
    assert said.startswith("refused: nothing here can hold untrusted code:\n") and "--unsafe" in said
    assert all(f"  tier {tier}: " in said for tier in "ABC")


def test_where_nothing_holds_the_user_may_permit_it():
    assert chosen(*NOTHING, **{PERMITTED: "1"}) == "unsafe"


def test_a_permission_weakens_nothing_where_something_holds():
    assert chosen(**{PERMITTED: "1"}) == chosen()
