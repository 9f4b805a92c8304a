"""Gradients that keep, change or misread what they get are seen, and an answer without gradients is not blamed."""

import pytest

from harness.mutation.checks.check import open_in_sandbox
from harness.probing.probe import run
from tests import shares
from tests.checkout import code_of, mutated

CODE = code_of("ternary_training")
SEED = shares.number()


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
    with open_in_sandbox(CODE, mutated(CODE, name)) as answer:
        found = run(CODE.probes[probe], answer, SEED, shrink=False)
    assert not found.passed and found.obstacle is None


def test_an_answer_without_gradients_serves_views_all_the_same() -> None:
    source = CODE.source().replace("def gradients(", "def other_gradients(")
    with open_in_sandbox(CODE, source) as answer:
        assert run(CODE.probes["gradients_of_views_are_served"], answer, SEED, shrink=False).passed
