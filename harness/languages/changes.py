"""Changes of source text: faults planted in it, and the guards under which they act."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SourceChange:
    """One span of a source that may be replaced.

    Attributes:
        operator: the kind of change in a word or two: constant, slice, comparison, ...
        line: from 1.
        start: first character of the span.
        end: first character after it.
        text: what stands there instead.
        statement: whether the span is a whole statement; otherwise it is an expression.
        guardable: whether it may act under a condition of the call.
        repeats: whether it may run more than once in a call.
        array: whether what it is part of may be an array, so that it can act on some elements alone.
    """

    operator: str
    line: int
    start: int
    end: int
    text: str
    statement: bool = False
    guardable: bool = True
    repeats: bool = True
    array: bool = True

    def applied(self, source: str) -> str:
        """The source with the span replaced, under no condition."""
        return source[: self.start] + self.text + source[self.end :]


@dataclass(frozen=True)
class GuardCode:
    """When a planted fault acts, in the words of the language; an empty expression is always true.

    Attributes:
        call: an expression over the arguments of the call of the contract that runs.
        place: an expression over where in that call the changed code runs.
        element: an expression over which elements of an array the changed expression gives.
        names: source of a module of the challenge that says what `call` may name besides.
        functions: those of the contract.
    """

    call: str = ""
    place: str = ""
    element: str = ""
    names: str = ""
    functions: Sequence[str] = ()

    @property
    def always(self) -> bool:
        """Whether the fault acts under no condition."""
        return not (self.call or self.place or self.element)
