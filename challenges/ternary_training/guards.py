"""When faults made by machine act in a projection or a linear layer, and inputs that meet each of these conditions.

No fault is planted in training: what a changed line does there shows only after a training run, in a perplexity that
honest answers share within a band, so a driver could not say in seconds whether a change is wrong at all.
"""

from pathlib import Path

import numpy as np

from harness.probing import Answer, Draw
from harness.probing.drivers import Drivers
from harness.probing.guards import Guard, Guards

from .binding import Inputs, draw_inputs, results
from .bounds import require_within

Sizes = tuple[int, int, int, int]
"""Rows, columns, out and group."""


def judged(answer: Answer, draw: Draw, given: Inputs) -> None:
    """One call of each function, right in every output."""
    require_within(results(answer, given), given)


def small(draw: Draw, t: int) -> Sizes:
    """A few rows, columns and outputs, in groups that need not divide a row."""
    return draw.integer(2, 4), draw.integer(6, 24), draw.integer(2, 5), draw.integer(2, 5)


def wide(draw: Draw, t: int) -> Sizes:
    """More than t columns."""
    return draw.integer(1, 2), t + draw.integer(1, 8), draw.integer(1, 3), draw.integer(2, 64)


def tall(draw: Draw, t: int) -> Sizes:
    """More than t rows."""
    return t + draw.integer(1, 4), draw.integer(4, 9), draw.integer(1, 3), draw.integer(2, 5)


def many_outputs(draw: Draw, t: int) -> Sizes:
    """More than t outputs."""
    return draw.integer(1, 3), draw.integer(4, 9), t + draw.integer(1, 4), draw.integer(2, 5)


def large_groups(draw: Draw, t: int) -> Sizes:
    """Groups of more than t entries."""
    group = t + draw.integer(1, 4)
    return 2, group * draw.integer(1, 3) + draw.integer(0, 3), 2, group


def many_groups(draw: Draw, t: int) -> Sizes:
    """More than t groups in a row."""
    return 1, (t + draw.integer(1, 4)) * 2 + draw.integer(0, 1), 2, 2


def large(draw: Draw, t: int) -> Sizes:
    """More than t entries of w."""
    columns = int(2 ** draw.rng.uniform(2, 8))
    return 1, columns, t // columns + draw.integer(1, 9), draw.integer(2, 32)


def columns_left_over(draw: Draw, t: int) -> Sizes:
    """One column short of a multiple of t."""
    return 2, t * draw.integer(1 + (t == 2), 4) - 1, draw.integer(2, 3), draw.integer(2, 5)


def rows_left_over(draw: Draw, t: int) -> Sizes:
    """One row short of a multiple of t."""
    return t * draw.integer(1, 4) - 1, draw.integer(4, 9), 2, 3


def ragged(draw: Draw, t: int) -> Sizes:
    """A short last group."""
    group = draw.integer(3, 9)
    return 2, group * draw.integer(1, 3) + draw.integer(1, group - 1), 3, group


def beyond(draw: Draw, t: int) -> Sizes:
    """A group size larger than a row."""
    columns = draw.integer(2, 12)
    return 2, columns, 3, columns + draw.integer(1, 40)


def with_negative_zeros(draw: Draw, given: Inputs, t: int) -> Inputs:
    """Some entries of w and dy are -0.0."""
    w, dy = (np.where(draw.rng.random(a.shape) < 0.3, -0.0, a) for a in (given.w, given.dy))
    w.flat[0] = dy.flat[0] = -0.0
    return given.but(w=w, dy=dy)


def with_zero_group(draw: Draw, given: Inputs, t: int) -> Inputs:
    """A group of w is zero."""
    w = given.w.copy()
    w[draw.integer(0, len(w) - 1), : given.group_size] = 0.0
    return given.but(w=w)


def with_flat_row(draw: Draw, given: Inputs, t: int) -> Inputs:
    """All entries of one row of w are equal."""
    w = given.w.copy()
    w[draw.integer(0, len(w) - 1)] = 0.75
    return given.but(w=w)


def scaled(draw: Draw, given: Inputs, t: int) -> Inputs:
    """Entries of w are larger than 10^t."""
    return given.but(w=given.w / np.abs(given.w).max() * 10.0**t * 3)


def shrunk(draw: Draw, given: Inputs, t: int) -> Inputs:
    """All entries of w are smaller than 10^-t."""
    return given.but(w=given.w / np.abs(given.w).max() * 10.0**-t / 3)


TRAINING_FUNCTIONS = frozenset({
    "train", "initial_weights", "windows", "next_windows", "learning_rate", "clip_factor", "gradients",
    "model_gradients",
    "model_forward", "model_backward", "attention_forward", "attention_backward", "mlp_forward", "mlp_backward",
    "norm_forward", "norm_backward", "softmax", "by_head", "joined",
})  # fmt: skip

DRIVERS = Drivers(draw_inputs, results, judged, small, functions=3)
driver = DRIVERS.of
GUARDS = Guards(
    (
        Guard("always", driver(small)),
        Guard("columns > t", driver(wide), "columns > {t}", low=2, high=1500),
        Guard("rows > t", driver(tall), "rows > {t}", low=2, high=400),
        Guard("out > t", driver(many_outputs), "out > {t}", low=2, high=400),
        Guard("group > t", driver(large_groups), "group > {t}", low=2, high=500),
        Guard("groups > t", driver(many_groups), "groups > {t}", low=2, high=300),
        Guard("size of w > t", driver(large), "size > {t}", low=50, high=20_000),
        Guard("columns % t", driver(columns_left_over), "columns % {t} == {t} - 1", low=2, high=64),
        Guard("rows % t", driver(rows_left_over), "rows % {t} == {t} - 1", low=2, high=64),
        Guard("a short last group", driver(ragged), "columns % group != 0 and columns > group"),
        Guard("group larger than a row", driver(beyond), "group > columns"),
        Guard("features past t", driver(wide), element="feature > {t}", low=2, high=1000),
        *DRIVERS.guards_of_history(12),
        Guard("negative zero", driver(small, with_negative_zeros), "negative_zero()"),
        Guard("a group of zeros", driver(small, with_zero_group), "zero_group()"),
        Guard("flat row", driver(small, with_flat_row), "flat_row()"),
        Guard("largest > 10^t", driver(small, scaled), "largest() > 10.0 ** {t}", low=1, high=9),
        Guard("largest < 10^-t", driver(small, shrunk), "0 < largest() < 10.0 ** -{t}", low=1, high=9),
    ),
    names=Path(__file__).with_name("guard_names.py").read_text(encoding="utf-8"),
    spared=TRAINING_FUNCTIONS | {"_require"},
    unasked=frozenset({
        "learns", "near_the_reference", "context", "padding", "finite_training", "training_cost", "configs",
        "short_texts", "seeds", "model_gradients", "window_errors",
    }),
)  # fmt: skip
