"""Outputs that are faked, kept, given under a watch, skimped on or lie about what they are earn nothing."""

import pytest

from tests.attacks import corpus

MODULES = ("credit_faked.py", "credit_replayed.py", "credit_detecting.py", "credit_lying.py", "credit_skimping.py")
PLANTED = corpus.selection(*MODULES)


@pytest.mark.parametrize("name", PLANTED)
def test_it_gains_nothing(name: str) -> None:
    corpus.expect_right(PLANTED[name])
