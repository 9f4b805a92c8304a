"""Honest answers that look like attacks pass, and nothing is said against them."""

import pytest

from tests.attacks import corpus

MODULES = ("twins_*.py",)
PLANTED = corpus.selection(*MODULES)


@pytest.mark.parametrize("name", PLANTED)
def test_it_passes_without_a_word_against_it(name: str) -> None:
    corpus.expect_right(PLANTED[name])
