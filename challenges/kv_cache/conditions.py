"""Conditions under which a cache may fail whatever else is asked of it."""

from collections.abc import Sequence
from typing import Any

from harness.probing.conditions import Condition


def _in_a_later_layer(function: str, args: Sequence[Any]) -> bool:
    return function in ("prefill", "decode") and args[1] > 0


CONDITIONS = (Condition("a layer beyond the first is used", "layer_isolation", _in_a_later_layer),)
