"""Conditions under which a cache may fail whatever else is asked of it."""

from collections.abc import Callable, Mapping, Sequence
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


class AfterOthers:
    """A condition of a call and those that the same cache took before it; a call that meets it is not made."""

    def __init__(self, met: Callable[[Taken, str, Sequence[Place]], bool]) -> None:
        self._met = met
        self._taken: WeakKeyDictionary[RemoteObject, Taken] = WeakKeyDictionary()

    def __call__(self, function: str, args: Sequence[Any]) -> bool:
        """Return whether a call meets the condition; of one whose slots lie in the answer's process nobody knows."""
        return _feeds(function, args) and self._met(self._taken.get(args[0], {}), function, _places(args))

    def served(self, function: str, args: Sequence[Any]) -> None:
        """Note a call that the answer took."""
        if _feeds(function, args):
            taken = self._taken.get(args[0], {})
            self._taken[args[0]] = taken | {place: (*taken.get(place, ()), function) for place in _places(args)}
        elif function in ("release", "fork") or (function == "truncate" and args[2] == 0):
            self._note_end(function, args)

    def _note_end(self, function: str, args: Sequence[Any]) -> None:
        taken = self._taken.get(args[0], {})
        if function == "fork" and args[1] == args[2]:
            return
        emptied = args[2] if function == "fork" else args[1]
        after = {place: calls for place, calls in taken.items() if place[1] != emptied}
        if function == "fork":
            after |= {(layer, args[2]): calls for (layer, slot), calls in taken.items() if slot == args[1]}
        self._taken[args[0]] = after


def _feeds(function: str, args: Sequence[Any]) -> bool:
    return function in FEEDS and not isinstance(args[2], RemoteObject)


def _places(args: Sequence[Any]) -> list[Place]:
    return [(int(args[1]), int(slot)) for slot in args[2]]


def _in_a_later_layer(function: str, args: Sequence[Any]) -> bool:
    return function in FEEDS and args[1] > 0


def _padded(function: str, args: Sequence[Any]) -> bool:
    """Return whether a prompt is padded; of arrays that lie in the answer's process nobody knows."""
    if function != "prefill" or any(isinstance(args[place], RemoteObject) for place in (3, 6)):
        return False
    return bool((args[6] < args[3].shape[2]).any())


def _after_others(name: str, criterion: str, met: Callable[[Taken, str, Sequence[Place]], bool]) -> Condition:
    condition = AfterOthers(met)
    return Condition(name, criterion, condition, REFUSED, served=condition.served)


def _of_several_sequences(taken: Taken, function: str, places: Sequence[Place]) -> bool:
    return len({slot for _, slot in (*taken, *places)}) > 1


def _a_decode_after_other_tokens(taken: Taken, function: str, places: Sequence[Place]) -> bool:
    return function == "decode" and any(place in taken for place in places)


def _a_third_call(taken: Taken, function: str, places: Sequence[Place]) -> bool:
    return any(len(taken.get(place, ())) > 1 for place in places)


def _missing(dtype: str) -> Condition:
    """Return the condition that a cache is made for a dtype, for answers that serve only the other."""

    def creates_it(function: str, keywords: Mapping[str, Any]) -> bool:
        return function == "create_cache" and keywords.get("dtype") == dtype

    name = f"the dtype of the cache is {dtype}"
    return Condition(name, "dtype", lambda function, args: False, mode=True, lacking=True, of_keywords=creates_it)


CONDITIONS = (
    _missing("float64"),
    _missing("float32"),
    Condition("a layer beyond the first is used", "layer_isolation", _in_a_later_layer, REFUSED),
    _after_others("several sequences are held", "batch_isolation", _of_several_sequences),
    Condition("a prompt is padded", "ragged_lengths", _padded, REFUSED),
    _after_others("a decode follows other tokens", "prefill_stored", _a_decode_after_other_tokens),
    _after_others("a sequence takes a third call", "decode_history", _a_third_call),
)
