"""The corpus under a profile: every attack graded in one process, by the fork servers that the ones before it used."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import harness
from harness.model import Challenge, GradeProfile
from harness.scoring.gates import ONE_CRITICAL_OVERALL
from harness.workspace import Workspace
from tests.attacks import corpus
from tests.attacks.attack import Attack, Expect
from tests.attacks.judge import HASTE, manifest
from tests.attacks.world import world

REPOSITORY = Path(__file__).parents[2]
CREDIT = ("credit_*.py", "cuda_*.py")
"""Modules of attacks on marks."""


@dataclass
class Earned:
    """What one answer earned.

    Attributes:
        name: of the attack, or of the right answer that follows all attacks on a challenge.
        challenge: id.
        reward: of its record.
        wrong: why this is not as it should be; empty when it is.
        seconds: wall time.
    """

    name: str
    challenge: str
    reward: float | None
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0


@cache
def rubric(challenge: str) -> Challenge:
    """The rubric of a challenge of this repository."""
    return Workspace(REPOSITORY).challenge(challenge)


def decided_by(attack: Attack, profile: GradeProfile = GradeProfile.REWARD) -> set[str]:
    """The criteria of a profile by which the attack must be seen, the anchor where it names none."""
    challenge = rubric(attack.challenge)
    return set(attack.criteria or (challenge.anchor,)) & profile.criteria(challenge)


def most_earned(attack: Attack) -> float:
    """The reward that the gates leave it: none without the anchor."""
    return 0.0 if decided_by(attack) == {rubric(attack.challenge).anchor} else ONE_CRITICAL_OVERALL / 100


def attacks() -> dict[str, Attack]:
    """Attacks on marks whose reward is bounded: a criterion that gates must see them."""
    return {
        name: attack
        for name, attack in corpus.attacks(*CREDIT).items()
        if attack.expect is Expect.NO_CREDIT and not (attack.tests or attack.claims) and decided_by(attack)
    }


def earned(attack: Attack, profile: GradeProfile) -> Earned:
    """One attack graded in this process, and what it did to the world meanwhile."""
    start = time.monotonic()
    challenge = rubric(attack.challenge)
    with world(REPOSITORY, attack.challenge) as place:
        folder = place.submission(attack)
        (folder / "submission.toml").write_text(manifest(attack, challenge), encoding="utf-8")
        record = harness.grade(
            folder, profile=profile, limits=HASTE[challenge.language], workspace=REPOSITORY, force=True
        )
        wrong = [text for text in place.damage() if not text.startswith("left ")]  # fork servers keep their folders
    most = most_earned(attack)
    if record.error:
        wrong.append(f"the grader failed: {record.error}"[:300])
    if record.reward is not None and record.reward > most:
        wrong.append(f"earned {record.reward:g}, at most {most:g} is left by the gates")
    return Earned(attack.name, attack.challenge, record.reward, wrong, time.monotonic() - start)


def earned_by_right_answer(challenge: str, profile: GradeProfile) -> Earned:
    """The baseline of a challenge: whatever was graded before it in this process, it earns everything."""
    start = time.monotonic()
    folder = REPOSITORY / "submissions" / "baseline" / challenge
    record = harness.grade(folder, profile=profile, workspace=REPOSITORY, force=True, publish=False)
    wrong = [] if record.reward == 1.0 else [f"the right answer earned {record.reward}: {record.error or ''}"]
    return Earned("the right answer, after them all", challenge, record.reward, wrong, time.monotonic() - start)


def run(chosen: Iterable[Attack], profile: GradeProfile) -> Iterator[Earned]:
    """Grade one after the other in this process, by challenge; after those of each the right answer to it."""
    by_challenge: dict[str, list[Attack]] = {}
    for attack in chosen:
        by_challenge.setdefault(attack.challenge, []).append(attack)
    for challenge, own in by_challenge.items():
        for attack in own:
            yield earned(attack, profile)
        if (REPOSITORY / "submissions" / "baseline" / challenge).is_dir():
            yield earned_by_right_answer(challenge, profile)


def table(results: Iterable[Earned]) -> Iterator[str]:
    """How many attacks on each challenge earned what, in a line; then a line for each that gained."""
    rows = list(results)
    for challenge in dict.fromkeys(row.challenge for row in rows):
        own = [row for row in rows if row.challenge == challenge and row.name != "the right answer, after them all"]
        known = [row.reward for row in own if row.reward is not None]
        yield (
            f"{challenge}: {len(own)} attacks: {sum(r == 0 for r in known)} earn nothing, "
            f"{sum(0 < r <= ONE_CRITICAL_OVERALL / 100 for r in known)} at most what the gates leave "
            f"(most {max(known, default=0):g}), {len(own) - len(known)} have no reward; "
            f"{sum(bool(row.wrong) for row in own)} gain"
        )
    for row in rows:
        if row.wrong:
            yield f"{row.name} @ {row.challenge}: {'; '.join(row.wrong)}"
