"""Whatever an answer tries on the world around its box, the world stays as it was, and the attempt is seen."""

import pytest

from tests.attacks import corpus

MODULES = ("harm_*.py",)
PLANTED = corpus.selection(*MODULES)


@pytest.mark.parametrize("name", PLANTED)
def test_the_world_stays_as_it_was(name: str) -> None:
    corpus.expect_right(PLANTED[name])
