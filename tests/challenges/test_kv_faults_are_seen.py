"""Every faulty cache fails the criterion it names, every right one passes all probes, and null answers earn nothing."""

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

from harness.probing import Mutant, Variant
from harness.probing.check import assess, sandboxed
from harness.probing.code import ChallengeCode
from harness.probing.null_answer import NullAnswer
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
CODE = ChallengeCode(WORKSPACE, WORKSPACE.challenge("kv_cache"))
RIGHT = drawn_variants(CODE)
TIMED, GROWTH = "decode_speed", "decode_cost"
FAULTY = [
    pytest.param(mutant, marks=pytest.mark.alone if mutant.criterion == TIMED else ()) for mutant in drawn_mutants(CODE)
]
OPTIONS = {c.id for c in CODE.challenge.criteria if c.capability}
COSTS = {"decode_cost", "memory_growth", "memory_report"}
COPIES = """
def create_cache(**sizes):
    return sizes

def prefill(cache, layer, slots, q, k, v, lengths):
    return v.copy()

def decode(cache, layer, slots, q, k, v):
    return v.copy()

def release(cache, slot):
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("mutant", FAULTY, ids=lambda mutant: mutant.name)
def test_a_mutant_fails_the_criterion_it_names(mutant: Mutant) -> None:
    assert_caught(CODE, mutant)


@pytest.mark.slow
@pytest.mark.parametrize("right", RIGHT, ids=lambda variant: variant.name if variant else "reference")
def test_a_right_answer_passes_every_probe(right: Variant | None) -> None:
    """A variant in a file of its own need not offer options; edits of the reference leave its costs as they are.

    How fast it is compared with the reference is no question of right or wrong, and a busy machine may not tell growth.
    """
    spared = {TIMED} | (set() if right is None else OPTIONS if right.file else COSTS)
    assert_right(CODE, right, spared, GROWTH)


@pytest.mark.parametrize("kind", NullAnswer.KINDS)
def test_a_null_answer_earns_nothing(kind: str) -> None:
    assert_null_earns_nothing(CODE, kind)


def test_a_copy_of_the_values_earns_nothing() -> None:
    """It is right for every first token, so it must fail the anchor by what it makes of a longer prompt."""
    with sandboxed(CODE, COPIES) as answer:
        evidence = assess(CODE, answer, SEED)
    assert [e.criterion for e in evidence if e.satisfied] == []


def test_there_are_as_many_faults_and_variants_as_promised() -> None:
    assert_enough(CODE, 30, 10)
