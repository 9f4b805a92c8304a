"""Figures of the page, each with a table of its numbers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from harness.model import Challenge, Record
from harness.numerics import FULL, PASS
from harness.report import formatting
from harness.report.page.figures import MOST_LINES, FigureAxis, dots, drawn, loss_map
from harness.report.page.losses import losses
from harness.report.page.series import Point, Series, error_ratios, exponents, time_ratios
from harness.report.views.answers import place

MOST_MAPS = 24
"""Most loss maps drawn."""


@dataclass(frozen=True)
class Drawing:
    """A figure, and its numbers.

    Attributes:
        title: subject and challenge.
        models: column headings of the table.
        rows: quantity, and its figure for each model.
        left_out: note on contents of the table missing from the figure.
    """

    challenge: str
    title: str
    svg: Markup
    models: tuple[str, ...] = ()
    rows: tuple[tuple[str, tuple[str, ...]], ...] = ()
    left_out: str = ""


Ordered = Sequence[tuple[Challenge, Sequence[Record]]]
"""Challenges with the records of their submissions, best first."""


def sections(
    challenges: Sequence[Challenge], records: Sequence[Record], models: Sequence[str]
) -> dict[str, tuple[Drawing, ...]]:
    """Return all figures by kind, as in the page's template.

    Args:
        records: one per graded submission.
        models: in the order of colours.
    """
    ordered = [
        (c, sorted((r for r in records if r.challenge == c.id), key=place))
        for c in sorted(challenges, key=lambda c: c.id)
    ]
    growth = FigureAxis("exponent", ((1.0, "linear"), (2.0, "quadratic")), (-0.1, 2.5))
    speed = FigureAxis("time over the reference's", ((1.0, "as fast"),), (0.5, 1.5))
    return {
        "error-ratios": tuple(_ratios(ordered, models)),
        "scaling": tuple(_dots(ordered, models, "growth of cost", exponents, growth)),
        "timing": tuple(_dots(ordered, models, "time ratio", time_ratios, speed)),
        "losses": tuple(_losses(ordered)),
    }


def _ratios(ordered: Ordered, models: Sequence[str]) -> Iterator[Drawing]:
    full_and_pass = (FULL, f"{FULL:g} full marks"), (PASS, f"{PASS:g} passes")
    for challenge, records in ordered:
        scale = challenge.error_ratio
        marks = ((scale.passes, f"{scale.passes:g} passes"),) if scale else full_and_pass
        axis = FigureAxis("error ratio", marks, (1e-3, 1e3), log=True)
        yield from _dots([(challenge, records)], models, "error ratios", error_ratios, axis)


def _dots(
    ordered: Ordered,
    models: Sequence[str],
    kind: str,
    read: Callable[[Challenge, Sequence[Record]], tuple[Series, ...]],
    axis: FigureAxis,
) -> Iterator[Drawing]:
    for challenge, records in ordered:
        lines = read(challenge, records)
        if lines:
            title = f"{challenge.title}: {kind}"
            svg = dots(f"{challenge.id}-{kind.replace(' ', '-')}", title, lines, models, axis)
            shown = tuple(r.model for r in records if any(r.model == p.model for line in lines for p in line.points))
            rows = tuple(_row(line, shown) for line in lines)
            yield Drawing(challenge.id, title, svg, shown, rows, _left_out(lines, models, shown))


def _left_out(lines: Sequence[Series], models: Sequence[str], shown: Sequence[str]) -> str:
    parts = []
    if len(shown) > (count := len(drawn(lines, models))):
        parts.append(f"the first {count} of {len(shown)} models are drawn")
    if len(lines) > MOST_LINES:
        parts.append(f"the first {MOST_LINES} of {len(lines)} lines are drawn")
    return "; ".join(parts)


def _row(line: Series, models: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    by_model = {point.model: point for point in line.points}
    return line.label, tuple(_text(by_model.get(model)) for model in models)


def _text(point: Point | None) -> str:
    if point is None:
        return "–"
    if point.low is None or point.high is None:
        return formatting.number(point.value)
    return f"{formatting.number(point.value)} [{formatting.number(point.low)}, {formatting.number(point.high)}]"


def _losses(ordered: Ordered) -> Iterator[Drawing]:
    found = [(challenge, loss) for challenge, records in ordered for loss in losses(records)]
    for number, (challenge, loss) in enumerate(found[:MOST_MAPS], 1):
        yield Drawing(challenge.id, f"{loss.name}: {loss.said}", loss_map(f"loss-{number}", loss))
