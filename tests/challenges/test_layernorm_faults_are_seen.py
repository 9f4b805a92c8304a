"""Faults of a layer norm that rewards must see are seen by every seed in brief."""

import pytest

from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.probe import run
from tests.checkout import code_of

CODE = code_of("layernorm_backward")


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
