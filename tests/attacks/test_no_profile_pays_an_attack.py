"""An attack earns no more in the profile `reward` than the gates of `full` leave it; nothing without the anchor."""

import pytest

from harness.languages import language
from harness.model import GradeProfile
from harness.workspace import Workspace
from tests.attacks import profiles
from tests.attacks.attack import Attack
from tests.shares import one_of_each

ATTACKS = profiles.attacks()
IN_EVERY_RUN = one_of_each(ATTACKS, lambda name: profiles.rubric(ATTACKS[name].challenge).language)


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(attack, id=name, marks=pytest.mark.every_run if name in IN_EVERY_RUN else ())
        for name, attack in ATTACKS.items()
    ],
)
def test_it_earns_no_more_than_the_gates_leave(attack: Attack) -> None:
    assert profiles.earned(attack, GradeProfile.REWARD).wrong == []


def test_every_challenge_and_language_is_among_them() -> None:
    assert {attack.challenge for attack in ATTACKS.values()} == set(Workspace(profiles.REPOSITORY).challenges())
    assert {language(profiles.rubric(a.challenge).language).name for a in ATTACKS.values()} == {"python", "cuda"}
