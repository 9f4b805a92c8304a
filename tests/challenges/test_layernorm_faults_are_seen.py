"""Every faulty layer norm fails the criterion it names, every right one passes all probes, and null answers earn
nothing."""

from pathlib import Path

import pytest
from corpora import (
    assert_caught,
    assert_enough,
    assert_null_earns_nothing,
    assert_right,
    drawn_mutants,
    drawn_variants,
)

from harness.mutation.checks.null_answer import NullAnswer
from harness.probing import Mutant, Variant
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.probe import run
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
CODE = ChallengeCode(WORKSPACE, WORKSPACE.challenge("layernorm_backward"))
RIGHT = drawn_variants(CODE)
TIMED, GROWTH = "backward_speed", "cost_growth"
FAULTY = [
    pytest.param(mutant, marks=pytest.mark.alone if mutant.criterion == TIMED else ()) for mutant in drawn_mutants(CODE)
]


@pytest.mark.parametrize("mutant", FAULTY, ids=lambda mutant: mutant.name)
def test_a_mutant_fails_the_criterion_it_names(mutant: Mutant) -> None:
    assert_caught(CODE, mutant)


@pytest.mark.parametrize("seed", [1, 7])
@pytest.mark.parametrize(
    ("name", "probe"),
    [
        ("elements beyond a limit", "a_million_elements_are_right"),
        ("one feature short of a tile", "whatever_a_block_leaves_over_is_right"),
        ("one row short of a block", "whatever_a_block_leaves_over_is_right"),
        ("gamma of ones", "every_kind_of_parameter_is_right"),
        ("tiny eps raised", "every_kind_of_parameter_is_right"),
        ("first dtype of a shape", "any_history_is_right"),
    ],
)
def test_a_probe_sees_its_fault_by_every_seed_in_brief(name: str, probe: str, seed: int) -> None:
    """These are in rewards, which must not be a matter of luck."""
    mutant = next(mutant for mutant in CODE.mutants if mutant.name == name)
    found = run(CODE.probes[probe].in_brief(), LocalAnswer(CODE.import_source(mutant)), seed, shrink=False)
    assert not found.passed and found.obstacle is None


@pytest.mark.parametrize("right", RIGHT, ids=lambda variant: variant.name if variant else "reference")
def test_a_right_answer_passes_every_probe(right: Variant | None) -> None:
    """How fast it is compared with the reference is no question of right or wrong; growth may be left open."""
    assert_right(CODE, right, {TIMED}, GROWTH)


@pytest.mark.parametrize("kind", NullAnswer.KINDS)
def test_a_null_answer_earns_nothing(kind: str) -> None:
    assert_null_earns_nothing(CODE, kind)


def test_there_are_as_many_faults_and_variants_as_promised() -> None:
    assert_enough(CODE, 30, 10)
