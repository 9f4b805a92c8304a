"""An attack gains nothing and leaves the world as it was; honest answers that look like one pass without a word."""

import pytest

from tests.attacks import corpus
from tests.attacks.attack import Attack
from tests.shares import one_of_each

MODULE_OF = {name: pattern for pattern in corpus.MODULES for name in corpus.attacks(pattern)}
IN_EVERY_RUN = one_of_each(MODULE_OF, MODULE_OF.__getitem__)


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(attack, id=name, marks=pytest.mark.every_run if name in IN_EVERY_RUN else ())
        for name, attack in corpus.attacks().items()
    ],
)
def test_what_becomes_of_it_is_right(attack: Attack) -> None:
    corpus.expect_right(attack)
