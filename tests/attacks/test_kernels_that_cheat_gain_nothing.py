"""Answers in CUDA that do no work, do it elsewhere, forge what is counted or do harm earn nothing and are held."""

import pytest

from tests.attacks import corpus

MODULES = ("cuda_*.py",)
PLANTED = corpus.selection(*MODULES)


@pytest.mark.parametrize("name", PLANTED)
def test_it_gains_nothing(name: str) -> None:
    corpus.expect_right(PLANTED[name])
