"""Every faulty search fails the criterion it names, every right one passes all probes, null answers earn nothing."""

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

from harness.probing import Draw, Mutant, Variant
from harness.probing.code import ChallengeCode
from harness.probing.null_answer import NullAnswer
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
CODE = ChallengeCode(WORKSPACE, WORKSPACE.challenge("beam_search"))
SEARCHES = CODE.module("searches")


@pytest.mark.slow
@pytest.mark.parametrize("mutant", drawn_mutants(CODE), ids=lambda mutant: mutant.name)
def test_a_mutant_fails_the_criterion_it_names(mutant: Mutant) -> None:
    assert_caught(CODE, mutant)


@pytest.mark.turns(4)
@pytest.mark.slow
@pytest.mark.parametrize("right", drawn_variants(CODE), ids=lambda variant: variant.name if variant else "reference")
def test_a_right_answer_passes_every_probe(right: Variant | None) -> None:
    """But for the costs that a variant says it does not meet."""
    assert_right(CODE, right, right.unmet if right else (), growth="")


@pytest.mark.parametrize("kind", NullAnswer.KINDS)
def test_a_null_answer_earns_nothing(kind: str) -> None:
    assert_null_earns_nothing(CODE, kind)


def test_there_are_as_many_faults_and_variants_as_promised() -> None:
    assert_enough(CODE, 40, 8)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("ends", SEARCHES.EOS)
def test_no_two_candidates_of_a_drawn_search_are_too_near(alpha: float, ends: str) -> None:
    """Nearer than 1e-6 the order would be a matter of rounding."""
    search = SEARCHES.drawn(Draw(5), vocab=9, lengths=[1, 3], width=4, steps=5, alpha=alpha, ends=ends)
    assert all(one.gap > 1e-6 for one in search.expected)
    again = SEARCHES.Search(**SEARCHES.vars_of(search))
    assert again.expected == search.expected
