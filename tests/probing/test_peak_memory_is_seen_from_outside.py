"""What a call holds at most is read from outside its process: given back or not, hidden by earlier peaks or not."""

import numpy as np
import pytest

from harness.mutation.checks.check import open_in_sandbox
from harness.mutation.checks.null_answer import NullAnswer
from harness.probing import Array, NotMeasurable
from harness.probing.conditions import PartlyServedAnswer
from harness.probing.peak_memory import PeakMeter
from tests.checkout import code_of

SOURCE = """
import numpy as np

HELD = np.ones(8 << 20)
HELD = None


def flash_attention_fwd(q, k, v, tile_size, causal=True):
    passing = np.ones(tile_size << 20, np.uint8)
    del passing
    return q + v
"""


def test_memory_that_is_given_back_counts_and_arguments_do_not() -> None:
    """The module held 64 MiB while it loaded; a call holds what `tile_size` says in MiB, and 2 MiB that it returns."""
    code = code_of("flash_attention")
    given = np.ones((1, 1, 4096, 128), np.float32)
    plan = Array(given.shape, "float32")
    with open_in_sandbox(code, SOURCE) as answer:
        meter = PeakMeter(answer)
        taken = {}
        for mebibytes in (1, 24, 6):
            _, taken[mebibytes] = meter.call("flash_attention_fwd", given, given, given, mebibytes, True, returns=plan)
    # what it returns is held twice while it crosses; the allocator's steps are below a MiB
    assert 23 <= taken[24] / 2**20 <= 27, taken
    assert 5 <= taken[6] / 2**20 <= 9, taken


def test_the_memory_of_an_answer_that_is_served_in_part_is_measured() -> None:
    code = code_of("flash_attention")
    given = np.ones((1, 1, 64, 8), np.float32)
    with open_in_sandbox(code, SOURCE) as answer:
        meter = PeakMeter(PartlyServedAnswer(answer, {"adapter.py"}))
        for mebibytes in (1, 24):
            _, taken = meter.call(
                "flash_attention_fwd", given, given, given, mebibytes, returns=Array(given.shape, "float32")
            )
    assert taken >= 20 << 20


def test_what_runs_in_no_process_of_its_own_is_not_measured() -> None:
    with pytest.raises(NotMeasurable):
        PeakMeter(NullAnswer("zeros"))
