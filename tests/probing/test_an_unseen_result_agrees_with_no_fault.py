"""A known fault is not named by a result that stayed in the worker: what the wrong call returned is unknown."""

import numpy as np

from harness.probing.diagnosis import Counts, distance
from harness.sandbox import RemoteObject

SEEN = (np.ones(2), (), Counts())
UNSEEN = (RemoteObject(1), (), Counts())


def test_a_trace_that_ends_in_an_unseen_result_agrees_with_none():
    assert distance([SEEN], [SEEN]) == 0.0
    assert distance([UNSEEN, SEEN], [UNSEEN, SEEN]) == 0.0
    assert distance([SEEN, UNSEEN], [SEEN, UNSEEN]) is None
