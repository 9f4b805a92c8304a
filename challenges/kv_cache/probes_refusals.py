"""Probes of calls that must be refused: whatever is wrong with them, the cache is then as it was."""

from collections.abc import Mapping
from typing import Any

from harness.probing import Answer, Draw, ProbeFailure, probe

from .binding import normal, require_offered
from .refusals import (
    LAYERS,
    POOL,
    SLOTS,
    History,
    forks,
    in_one_slot,
    late_without_room,
    without_room,
    wrong_arguments,
)

SINGLE, SEVERAL = "one slot", "several slots"


@probe({"slots": SINGLE, "H": 1, "D": 4, "dtype": "float64"}, {"slots": SEVERAL, "H": 2, "D": 4, "dtype": "float32"},
       apart=True)  # fmt: skip
def a_refused_call_changes_nothing(answer: Answer, draw: Draw, *, slots: str, H: int, D: int, dtype: str) -> None:
    """K16: a cache that refused calls of every kind goes on as one that saw none of them, in every slot and layer."""
    pool = normal(draw, SLOTS, H, POOL, D, dtype)
    if slots == SINGLE:
        History(answer, pool, tuple(in_one_slot()), single=True).judge()
    else:
        every = (*without_room(0), *late_without_room(1), *wrong_arguments())
        History(answer, pool, every, layers=LAYERS).judge()


@probe(H=1, D=4, dtype="float64")
def a_refused_call_leaves_a_window(answer: Answer, draw: Draw, *, H: int, D: int, dtype: str) -> None:
    """K16 under a window: what is refused shows in no window, where it does not without one."""
    _judge(answer, draw, H, D, dtype, {"window": 3})


@probe(H=1, D=4, dtype="float64")
def a_refused_call_leaves_pages(answer: Answer, draw: Draw, *, H: int, D: int, dtype: str) -> None:
    """K16 with pages: what is refused shows in no page and takes none, where it does not without them."""
    _judge(answer, draw, H, D, dtype, {"page_size": 3})


@probe(H=1, D=4, dtype="float64")
def a_refused_call_leaves_forks(answer: Answer, draw: Draw, *, H: int, D: int, dtype: str) -> None:
    """K16 after a fork, and for forks that are refused, where it does not without one."""
    require_offered(answer, "fork")
    _judge(answer, draw, H, D, dtype, {}, forked=True)


@probe(H=1, D=32, dtype="float32", fixed=("D",))
def a_refused_call_leaves_int8(answer: Answer, draw: Draw, *, H: int, D: int, dtype: str) -> None:
    """K16 at int8: what is refused shows in no code and no scale, where it does not without them."""
    _judge(answer, draw, H, D, dtype, {"quantization": "int8"})


@probe(H=1, D=32, dtype="float32", fixed=("D",))
def a_refused_call_leaves_int4(answer: Answer, draw: Draw, *, H: int, D: int, dtype: str) -> None:
    """K16 at int4: what is refused shows in no code and no scale, where it does not without them."""
    _judge(answer, draw, H, D, dtype, {"quantization": "int4"})


def _judge(
    answer: Answer, draw: Draw, H: int, D: int, dtype: str, options: Mapping[str, Any], forked: bool = False
) -> None:
    """Charge an option for the traces that the same calls do not leave without it."""
    pool = normal(draw, SLOTS, H, POOL, D, dtype)
    plain = tuple(late_without_room(0))
    try:
        History(answer, pool, (*plain, *(forks() if forked else ())), forked=forked, options=options).judge()
    except ProbeFailure as traces:
        try:
            History(answer, pool, plain).judge()
        except ProbeFailure:
            return
        raise traces
