"""An answer that does the work on small problems only fails, and one that works otherwise on large ones does not."""

import pytest

from tests.attacks import corpus
from tests.attacks.skimping import ATTACKS


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_it_gains_nothing(attack) -> None:
    corpus.expect_right(attack)
