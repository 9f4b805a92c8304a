"""What float32 does not tell apart: an answer that ranks by probability puts logits that round alike in any order."""

import numpy as np

from .binding import Floats, Launched

UNIT = 2.0**-24
SMALLEST = 2.0**-126
"""Smallest normal float32: below it a device may flush to zero."""
UNITS = 3.0
"""What an exponential and a division cost, in units of roundoff, on top of what `judging` derives for the argument."""
LADDER = 8.0
"""Logits that differ lie so far from 0 at most, evenly spaced."""


def best_left_out(run: Launched, row: int) -> int:
    """Return the column of the largest logit of a row that was not chosen."""
    left = np.setdiff1d(np.arange(run.vocab), run.indices[row])
    return int(left[run.logits[row, left].argmax()])


def chosen_alike(run: Launched, row: int) -> bool:
    """Say whether float32 may give the smallest chosen of a row the probability of the largest that was left out."""
    chosen = run.indices[row]
    columns = [best_left_out(run, row), int(chosen[run.logits[row, chosen].argmin()])]
    depths = np.where(np.isfinite(run.depths[row, columns]), run.depths[row, columns], 0)
    exact = run.exact[row, columns]
    off = UNIT * (2 * depths + UNITS) * exact
    return bool(exact[0] - exact[1] <= off.sum() + SMALLEST)


def apart(logits: Floats) -> Floats:
    """Return logits in the same order, equal ones equal, of which no two others have probabilities that round alike."""
    ordered = (np.unique(row, return_inverse=True) for row in logits)
    ladders = [np.linspace(-LADDER, LADDER, len(values))[places] for values, places in ordered]
    return np.stack(ladders).astype(np.float32)
