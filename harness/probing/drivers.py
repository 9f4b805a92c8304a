"""Drivers of guards for contracts whose calls take drawn arrays."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.probing.answers import Answer
from harness.probing.draw import Draw
from harness.probing.guards import Driver, Guard

Sizes = Callable[[Draw, int], tuple[int, ...]]
"""Function that draws sizes which meet a guard of threshold t."""
Values = Callable[[Draw, Any, int], Any]
"""Function that changes drawn inputs so that they meet a guard of threshold t."""


def _keep_inputs(draw: Draw, given: Any, t: int) -> Any:
    return given


@dataclass(frozen=True)
class Drivers:
    """Functions of a challenge that draw inputs, call a submission with them and judge the results.

    Attributes:
        draw: called as `draw(draw, *sizes, dtype, **settings)`; returns inputs.
        call: calls the submission; its results are not judged.
        judge: calls it and raises `ProbeFailure` for a wrong result.
        small: sizes of a small call.
        dtypes: dtypes of the inputs, in the order of a driver's calls.
        settings: keyword arguments of `draw`, each tried in either dtype.
        functions: calls of the contract's functions that one `call` makes.
        turns: dtypes of the calls that follow one another.
    """

    draw: Callable[..., Any]
    call: Callable[[Answer, Any], object]
    judge: Callable[[Answer, Draw, Any], None]
    small: Sizes
    dtypes: tuple[str, ...] = ("float64", "float32")
    settings: tuple[Mapping[str, Any], ...] = ({},)
    functions: int = 1
    turns: tuple[str, ...] = ("float64", "float32", "float64")

    def of(self, sizes: Sizes, values: Values = _keep_inputs, dtype: str = "", **settings: Any) -> Driver:
        """Return the driver of calls with sizes and values, in all dtypes and settings or in those given."""

        def drive(answer: Answer, draw: Draw, t: int) -> None:
            for used in (dtype,) if dtype else self.dtypes:
                for chosen in (settings,) if settings else self.settings:
                    given = self.draw(draw, *sizes(draw, t), used, **chosen)
                    self.judge(answer, draw, values(draw, given, t))

        return drive

    def guards_of_history(self, most: int) -> tuple[Guard, ...]:
        """Return the guards on earlier calls and on the dtype, for a `Guards.names` that gives `repeated`,
        `other_dtype` and `dtype`.

        Args:
            most: largest number of calls after which a fault acts.
        """
        return (
            Guard("after t calls", self._call_often, "calls > {t}", low=2, high=most),
            Guard("same shape again", self._repeat_shape, "repeated"),
            Guard("dtypes in turn", self._turn_dtypes, "other_dtype"),
            Guard("float32", self.of(self.small, dtype="float32"), "dtype == 'float32'"),
        )

    def _call_often(self, answer: Answer, draw: Draw, t: int) -> None:
        for _ in range(t // self.functions):
            self.call(answer, self.draw(draw, *self.small(draw, t), "float64"))
        for dtype in ("float32", "float64"):
            self.judge(answer, draw, self.draw(draw, *self.small(draw, t), dtype))

    def _repeat_shape(self, answer: Answer, draw: Draw, t: int) -> None:
        sizes = self.small(draw, t)
        for _ in range(3):
            self.judge(answer, draw, self.draw(draw, *sizes, "float64"))

    def _turn_dtypes(self, answer: Answer, draw: Draw, t: int) -> None:
        for dtype in self.turns:
            self.judge(answer, draw, self.draw(draw, *self.small(draw, t), dtype))
