"""Every faulty ternary training fails the criterion it names, every right one passes all probes, and null answers earn
nothing."""

from pathlib import Path

import pytest
from corpora import (
    SEED,
    assert_caught,
    assert_enough,
    assert_null_earns_nothing,
    assert_right,
    drawn_mutants,
    drawn_variants,
)

from harness.mutation.checks.check import open_in_sandbox
from harness.mutation.checks.null_answer import NullAnswer
from harness.probing import Mutant, Variant
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.probe import run
from harness.workspace import Workspace
from tests import shares

WORKSPACE = Workspace(Path(__file__).parents[2])
CODE = ChallengeCode(WORKSPACE, WORKSPACE.challenge("ternary_training"))
COST = "training_cost"
TRAINED = ("learns", "near_the_reference", "context", "padding", "finite_training", COST)
"""Criteria that take a training run each. One run of the tests judges one: on a mutant, and on a right answer by the
same text, so that the reference is trained once for both."""
LONG = [mutant for mutant in CODE.mutants if mutant.criterion in TRAINED]
DRAWN_LONG = shares.share(LONG, len(LONG))
DRAWN = [*(mutant for mutant in drawn_mutants(CODE) if mutant.criterion not in TRAINED), *DRAWN_LONG]


@pytest.mark.parametrize("mutant", DRAWN, ids=lambda mutant: mutant.name)
def test_a_mutant_fails_the_criterion_it_names(mutant: Mutant) -> None:
    assert_caught(CODE, mutant)


@pytest.mark.parametrize("right", drawn_variants(CODE), ids=lambda variant: variant.name if variant else "reference")
def test_a_right_answer_passes_every_probe(right: Variant | None) -> None:
    """What it costs compared with the reference is no question of right or wrong."""
    spared = {*TRAINED} - {mutant.criterion for mutant in DRAWN_LONG} | {*(right.unmet if right else ())}
    assert_right(CODE, right, spared, COST)


@pytest.mark.parametrize("kind", NullAnswer.KINDS)
def test_a_null_answer_earns_nothing(kind: str) -> None:
    assert_null_earns_nothing(CODE, kind)


def test_there_are_as_many_faults_and_variants_as_promised() -> None:
    assert_enough(CODE, 80, 12)


@pytest.mark.parametrize(
    ("name", "probe"),
    [
        ("weights stepped in place", "gradients_come_of_their_arguments_alone"),
        ("gradients of all calls", "gradients_come_of_their_arguments_alone"),
        ("weights as they lie in memory", "gradients_of_views_are_served"),
        ("order lost in long windows", "every_gradient_matches_the_oracle"),
    ],
)
def test_gradients_that_keep_change_or_misread_what_they_get_are_seen(name: str, probe: str) -> None:
    mutant = next(mutant for mutant in CODE.mutants if mutant.name == name)
    with open_in_sandbox(CODE, CODE.source(mutant)) as answer:
        found = run(CODE.probes[probe], answer, SEED, shrink=False)
    assert not found.passed and found.obstacle is None


def test_an_answer_without_gradients_serves_views_all_the_same() -> None:
    source = CODE.source().replace("def gradients(", "def other_gradients(")
    with open_in_sandbox(CODE, source) as answer:
        assert run(CODE.probes["gradients_of_views_are_served"], answer, SEED, shrink=False).passed
