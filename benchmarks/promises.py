"""Bounds that a benchmark holds itself to: printed beside each figure, and exit status 1 when one is broken."""

import sys


class Promises:
    """The promises of one script.

    Attributes:
        broken: those that did not hold, in words.
    """

    def __init__(self) -> None:
        self.broken: list[str] = []

    def at_most(self, what: str, figure: float, bound: float, unit: str = "") -> None:
        """Print a figure that must not exceed its bound; NaN breaks the promise."""
        self._print(what, figure, bound, unit, "at most", figure <= bound)

    def at_least(self, what: str, figure: float, bound: float, unit: str = "") -> None:
        """Print a figure that must reach its bound; NaN breaks the promise."""
        self._print(what, figure, bound, unit, "at least", figure >= bound)

    def settle(self) -> None:
        """Exit with status 1 when a promise is broken.

        Raises:
            SystemExit: one is.
        """
        if self.broken:
            sys.exit("broken promises:\n" + "\n".join(f"  {line}" for line in self.broken))

    def _print(self, what: str, figure: float, bound: float, unit: str, relation: str, kept: bool) -> None:
        line = f"{what}: {figure:.4g}{unit}   promised: {relation} {bound:.4g}{unit}"
        print(line if kept else f"{line}   BROKEN")
        if not kept:
            self.broken.append(line)
