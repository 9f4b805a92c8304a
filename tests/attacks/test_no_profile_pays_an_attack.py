"""An attack earns no more in the profile `reward` than the gates of `full` leave it; nothing without the anchor."""

from pathlib import Path

import pytest

import harness
from harness.languages import language
from harness.model import Challenge, GradeProfile
from harness.scoring.gates import ONE_CRITICAL_OVERALL
from harness.workspace import Workspace
from tests.attacks import corpus
from tests.attacks.attack import Attack, Expect
from tests.attacks.judge import HASTE, manifest
from tests.attacks.world import world
from tests.shares import share

REPOSITORY = Path(__file__).parents[2]
WORKSPACE = Workspace(REPOSITORY)
RUBRICS = {id: WORKSPACE.challenge(id) for id in WORKSPACE.challenges()}
ONE_IN = {"python": 24, "cuda": 48}


def decided_by(attack: Attack) -> set[str]:
    """The gating criteria by which the attack must be seen, the anchor where it names none."""
    rubric = RUBRICS[attack.challenge]
    return set(attack.criteria or (rubric.anchor,)) & GradeProfile.REWARD.criteria(rubric)


def drawn() -> dict[str, Attack]:
    """A few attacks of each challenge that is gated against."""
    for_marks = {
        name: attack
        for name, attack in corpus.attacks("credit_*.py", "cuda_*.py").items()
        if attack.expect is Expect.NO_CREDIT and not (attack.tests or attack.claims) and decided_by(attack)
    }
    chosen: list[str] = []
    for id, rubric in RUBRICS.items():
        chosen += share([n for n, a in for_marks.items() if a.challenge == id], ONE_IN[rubric.language])
    return {name: for_marks[name] for name in chosen}


ATTACKS = drawn()


def earned(attack: Attack, rubric: Challenge) -> float | None:
    with world(REPOSITORY, attack.challenge) as place:
        folder = place.submission(attack)
        (folder / "submission.toml").write_text(manifest(attack, rubric), encoding="utf-8")
        limits = HASTE[rubric.language]
        return harness.grade(folder, profile="reward", limits=limits, workspace=REPOSITORY, force=True).reward


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_it_earns_no_more_than_the_gates_leave(name: str) -> None:
    attack, rubric = ATTACKS[name], RUBRICS[ATTACKS[name].challenge]
    reward = earned(attack, rubric)
    most = 0.0 if decided_by(attack) == {rubric.anchor} else ONE_CRITICAL_OVERALL / 100
    assert reward is None or reward <= most


def test_every_challenge_and_language_is_among_them() -> None:
    assert {attack.challenge for attack in ATTACKS.values()} == set(RUBRICS)
    assert {language(RUBRICS[a.challenge].language).name for a in ATTACKS.values()} == set(ONE_IN)
