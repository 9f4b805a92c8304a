"""Memory as seen from outside: what the worker's resident size grows by."""

from collections.abc import Callable

from harness.probing.answers import Answer


def growth(answer: Answer, act: Callable[[], object]) -> int:
    """Bytes by which the answer's resident memory grows while `act` runs; negative when it shrinks."""
    before = answer.resident_bytes()
    act()
    return answer.resident_bytes() - before
