"""Patches of what is near, exceptions, hidden state, vacuous checks, tests and claims earn nothing."""

import pytest

from tests.attacks import corpus

MODULES = (
    "credit_patching.py",
    "credit_exceptions.py",
    "credit_hidden_state.py",
    "credit_checks.py",
    "credit_tests.py",
    "credit_served.py",
    "credit_attention.py",
    "credit_trained.py",
)
PLANTED = corpus.selection(*MODULES)


@pytest.mark.parametrize("name", PLANTED)
def test_it_gains_nothing(name: str) -> None:
    corpus.expect_right(PLANTED[name])
