"""The turn of a draw depends on its seed and on how often it was asked for, and on nothing that was drawn between."""

import pytest

from harness.probing import Draw


@pytest.mark.parametrize("others", [0, 1, 1000])
def test_what_is_drawn_between_two_turns_changes_neither(others: int) -> None:
    plain, drawing = Draw(7, "probe"), Draw(7, "probe")
    turns = [plain.turn() for _ in range(3)]
    found = []
    for _ in range(3):
        found.append(drawing.turn())
        drawing.normal(others)
    assert found == turns
    assert len(set(turns)) == 3


def test_turns_change_no_draw_and_begin_elsewhere_for_another_seed() -> None:
    plain, turning = Draw(7, "probe"), Draw(7, "probe")
    begins = turning.turn()
    assert (plain.normal(5) == turning.normal(5)).all()
    assert Draw(8, "probe").turn() != begins != Draw(7, "other").turn()
