"""An attack earns no more in the profile `reward` than the gates of `full` leave it; nothing without the anchor."""

import pytest

from harness.languages import language
from harness.model import GradeProfile
from harness.workspace import Workspace
from tests.attacks import profiles
from tests.attacks.attack import Attack
from tests.shares import share

ONE_IN = {"python": 24, "cuda": 48}


def drawn() -> dict[str, Attack]:
    """A few attacks on each challenge; `python -m tests.attacks --profile reward` runs them all."""
    for_marks = profiles.attacks()
    chosen: list[str] = []
    for id in dict.fromkeys(attack.challenge for attack in for_marks.values()):
        chosen += share([n for n, a in for_marks.items() if a.challenge == id], ONE_IN[profiles.rubric(id).language])
    return {name: for_marks[name] for name in chosen}


ATTACKS = drawn()


@pytest.mark.parametrize("name", ATTACKS)
def test_it_earns_no_more_than_the_gates_leave(name: str) -> None:
    assert profiles.earned(ATTACKS[name], GradeProfile.REWARD).wrong == []


def test_every_challenge_and_language_is_among_them() -> None:
    assert {attack.challenge for attack in ATTACKS.values()} == set(Workspace(profiles.REPOSITORY).challenges())
    assert {language(profiles.rubric(a.challenge).language).name for a in ATTACKS.values()} == set(ONE_IN)
