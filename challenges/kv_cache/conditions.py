"""Conditions under which a cache may fail whatever else is asked of it."""

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from harness.probing import RemoteObject
from harness.probing.conditions import Condition

Place = tuple[int, int]
"""A layer, and a slot in it."""
Taken = dict[Place, tuple[str, ...]]
"""The calls that each place took since it was empty, by the function's name."""
FEEDS = ("prefill", "decode")
REFUSED = ("capacity", "argument_errors")
"""Criteria of calls that must be refused, whatever is held."""
PLAIN = (*REFUSED, "gqa", "sliding_window", "fork", "paged", "int8", "int4")
"""Those and the options: what a plain cache does wrong is no cause of what an option does."""


class AfterOthers:
    """A condition of a call and those before it on the same cache; a call that meets it is not made."""

    def __init__(self, met: Callable[[Taken, str, Sequence[Place]], bool]) -> None:
        self._met = met
        self._taken: WeakKeyDictionary[RemoteObject, Taken] = WeakKeyDictionary()

    def __call__(self, function: str, args: Sequence[Any]) -> bool:
        """Return whether a call meets the condition."""
        if function not in (*FEEDS, "release", "fork"):
            return False
        taken = after = self._taken.get(args[0], {})
        if function in FEEDS:
            places = [(int(args[1]), int(slot)) for slot in args[2]]
            if self._met(taken, function, places):
                return True
            after = taken | {place: (*taken.get(place, ()), function) for place in places}
        elif function == "release" or args[1] != args[2]:
            after = {place: calls for place, calls in taken.items() if place[1] != args[-1]}
            if function == "fork":
                after |= {(layer, args[2]): calls for (layer, slot), calls in taken.items() if slot == args[1]}
        self._taken[args[0]] = after
        return False


def _in_a_later_layer(function: str, args: Sequence[Any]) -> bool:
    return function in FEEDS and args[1] > 0


def _padded(function: str, args: Sequence[Any]) -> bool:
    return function == "prefill" and bool((args[6] < args[3].shape[2]).any())


def _of_several_sequences(taken: Taken, function: str, places: Sequence[Place]) -> bool:
    return len({slot for _, slot in (*taken, *places)}) > 1


def _a_decode_after_other_tokens(taken: Taken, function: str, places: Sequence[Place]) -> bool:
    return function == "decode" and any(place in taken for place in places)


def _a_third_call(taken: Taken, function: str, places: Sequence[Place]) -> bool:
    return any(len(taken.get(place, ())) > 1 for place in places)


CONDITIONS = (
    Condition("a layer beyond the first is used", "layer_isolation", _in_a_later_layer, REFUSED),
    Condition("several sequences are held", "batch_isolation", AfterOthers(_of_several_sequences), PLAIN),
    Condition("a prompt is padded", "ragged_lengths", _padded, PLAIN),
    Condition("a decode follows other tokens", "prefill_stored", AfterOthers(_a_decode_after_other_tokens), PLAIN),
    Condition("a sequence takes a third call", "decode_history", AfterOthers(_a_third_call), PLAIN),
)
