"""Changes that plant faults in source text, and the guards under which they act."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SourceChange:
    """A replacement for one span of a source.

    Attributes:
        operator: kind of change, such as slice or comparison.
        line: from 1.
        start: offset of the span's first character.
        end: offset behind its last character.
        text: replacement.
        statement: true if the span is a whole statement, not an expression.
        guardable: true if it may act under a condition of the call.
        repeats: true if it may run more than once in a call.
        array: true if it may be part of an array, and so act on some elements alone.
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

    def apply(self, source: str) -> str:
        """Return the source with the span replaced unconditionally."""
        return source[: self.start] + self.text + source[self.end :]


@dataclass(frozen=True)
class GuardCode:
    """The condition under which a planted fault acts, as code; empty expressions are always true.

    Attributes:
        call: expression over the arguments of the contract's running function.
        place: expression over the place of the changed code within that call.
        element: expression over the elements of the changed array.
        names: source of a module with further names for `call`.
        functions: functions of the contract.
    """

    call: str = ""
    place: str = ""
    element: str = ""
    names: str = ""
    functions: Sequence[str] = ()

    @property
    def always(self) -> bool:
        """True if the fault acts unconditionally."""
        return not (self.call or self.place or self.element)
