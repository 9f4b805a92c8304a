"""Every faulty verification fails the criterion it names, every right one passes all probes, null ones earn nothing."""

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

from harness.model import Outcome
from harness.probing import Draw, Mutant, Variant
from harness.probing.code import ChallengeCode
from harness.probing.criteria import probe_criterion
from harness.probing.local_answer import LocalAnswer
from harness.probing.mutants import module_of
from harness.probing.null_answer import NullAnswer
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
CODE = ChallengeCode(WORKSPACE, WORKSPACE.challenge("tree_verification"))
TREES, ORACLE = CODE.module("trees"), CODE.module("oracle")


@pytest.mark.slow
@pytest.mark.parametrize("mutant", drawn_mutants(CODE), ids=lambda mutant: mutant.name)
def test_a_mutant_fails_the_criterion_it_names(mutant: Mutant) -> None:
    assert_caught(CODE, mutant)


@pytest.mark.turns(4)
@pytest.mark.slow
@pytest.mark.parametrize("right", drawn_variants(CODE), ids=lambda variant: variant.name if variant else "reference")
def test_a_right_answer_passes_every_probe(right: Variant | None) -> None:
    """But for the criteria that a variant says it does not meet."""
    assert_right(CODE, right, right.unmet if right else (), growth="")


@pytest.mark.parametrize("kind", NullAnswer.KINDS)
def test_a_null_answer_earns_nothing(kind: str) -> None:
    assert_null_earns_nothing(CODE, kind)


def test_there_are_as_many_faults_and_variants_as_promised() -> None:
    assert_enough(CODE, 40, 8)


@pytest.mark.parametrize("shape", TREES.SHAPES)
def test_a_drawn_tree_is_what_its_draft_says(shape: str) -> None:
    """Right: all of a longest path is greedy decoding. Wrong: no root is. And no two siblings hold the same token."""
    parents = TREES.SHAPES[shape]
    for draft, holds in (("right", TREES.depth_of(parents)), ("wrong", 0)):
        tree = TREES.drawn(Draw(3), parents, prompt=3, vocab=13, draft=draft, ordered=True)
        assert tree.longest == holds
        assert len(set(zip(tree.parents, tree.tokens, strict=True))) == len(parents)


@pytest.mark.parametrize("seed", [0, 3])
def test_a_fault_that_emits_the_same_wrong_token_by_chance_is_not_named(seed: int) -> None:
    """The answer's mask is right, and not what it verifies with; here a fault of positions emits the same."""
    evidence = probe_criterion(CODE, CODE.challenge.criterion("any_tree"), without_its_mask(), seed=seed)
    assert evidence.outcome is Outcome.FAILED
    assert evidence.diagnosis is None


def test_a_fault_that_needs_no_positions_is_not_charged_to_them() -> None:
    evidence = probe_criterion(CODE, CODE.challenge.criterion("positions"), without_its_mask(), seed=1)
    assert evidence.outcome is Outcome.NOT_RUN
    assert "goes wrong as well" in evidence.detail


def without_its_mask() -> LocalAnswer:
    """The reference, which builds the right mask and verifies with another one."""
    told = "    mask = build_tree_mask(prompt_len, parents)\n    positions"
    kept = "    mask = np.tri(prompt_len + len(tree_tokens), dtype=bool)\n    positions"
    return LocalAnswer(module_of("answer", CODE.source().replace(told, kept)))
