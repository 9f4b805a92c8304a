"""Every faulty attention fails the criterion it names, every right one passes all probes, and null answers earn
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
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
CODE = ChallengeCode(WORKSPACE, WORKSPACE.challenge("flash_attention"))
RIGHT = drawn_variants(CODE)


@pytest.mark.parametrize("mutant", drawn_mutants(CODE), ids=lambda mutant: mutant.name)
def test_a_mutant_fails_the_criterion_it_names(mutant: Mutant) -> None:
    assert_caught(CODE, mutant)


@pytest.mark.parametrize("right", RIGHT, ids=lambda variant: variant.name if variant else "reference")
def test_a_right_answer_passes_every_probe(right: Variant | None) -> None:
    assert_right(CODE, right, set(right.unmet) if right else (), growth="")


@pytest.mark.parametrize("kind", NullAnswer.KINDS)
def test_a_null_answer_earns_nothing(kind: str) -> None:
    assert_null_earns_nothing(CODE, kind)


def test_there_are_as_many_faults_and_variants_as_promised() -> None:
    assert_enough(CODE, 60, 12)
