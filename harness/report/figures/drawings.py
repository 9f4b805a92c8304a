"""Drawings of the page, each with a table of its numbers."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from harness.model import Challenge, Record
from harness.numerics import FULL, PASS
from harness.report import formatting
from harness.report.document import Block, Figure, Group, Heading, Paragraph, table
from harness.report.escape import plain
from harness.report.figures.losses import losses
from harness.report.figures.series import Point, Series, error_ratios, exponents, time_ratios
from harness.report.jinja import render
from harness.report.views.answers import place

MOST_MAPS, MOST_LINES = 24, 60
"""Most loss maps, and most lines of a figure; its table holds all."""
FLOOR, CEILING = 1e-3, 1e21
"""Limits of a logarithmic axis; figures outside are drawn at the edge."""
MARKERS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0", "M-3.5-3.5h7v7h-7z", "M0-5L5 0L0 5L-5 0z", "M0-4.5L4.5 4H-4.5z",
    "M0 4.5L4.5-4H-4.5z", "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    "M-4-2L-2-4L0-2L2-4L4-2L2 0L4 2L2 4L0 2L-2 4L-4 2L-2 0z",
    "M0-5L1.5-1.5H5L2.2 1L3.2 4.5L0 2.4L-3.2 4.5L-2.2 1L-5-1.5H-1.5z",
)  # fmt: skip
"""One shape per colour, so that readers need not tell colours apart."""
_WIDTH, _LANE, _LETTER, _LABEL, _NAME, _NAMES_IN_ROW = 720, 26, 6.6, 40, 26, 4
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

Ordered = Sequence[tuple[Challenge, Sequence[Record]]]
"""Challenges with the records of their submissions, best first."""


@dataclass(frozen=True)
class FigureAxis:
    """The axis of a figure.

    Attributes:
        marks: special values and their meanings; the last one's text stands to its right.
        least: ends of the range that is always visible.
        log: true for a logarithmic axis.
    """

    label: str
    marks: tuple[tuple[float, str], ...]
    least: tuple[float, float]
    log: bool = False


def figure_blocks(
    challenges: Sequence[Challenge], records: Sequence[Record], models: Sequence[str]
) -> dict[str, tuple[Block, ...]]:
    """Return the figures by kind, each with its challenge.

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


def _ratios(ordered: Ordered, models: Sequence[str]) -> Iterator[Block]:
    for challenge, records in ordered:
        scale = challenge.error_ratio
        full, passes = (scale.full, scale.passes) if scale else (FULL, PASS)
        marks = (*(((full, f"{full:g} full marks"),) if full else ()), (passes, f"{passes:g} passes"))
        axis = FigureAxis("error ratio", marks, (1e-3, 1e3), log=True)
        yield from _dots([(challenge, records)], models, "error ratios", error_ratios, axis)


def _dots(
    ordered: Ordered,
    models: Sequence[str],
    kind: str,
    read: Callable[[Challenge, Sequence[Record]], tuple[Series, ...]],
    axis: FigureAxis,
) -> Iterator[Block]:
    for challenge, records in ordered:
        lines = read(challenge, records)
        if lines:
            title = f"{challenge.title}: {kind}"
            shown = tuple(r.model for r in records if any(r.model == p.model for line in lines for p in line.points))
            figures = table(("What", *shown), (_row(line, shown) for line in lines), f"{title}, as a table")
            yield Group((Figure(title, draw(title, lines, models, axis), figures, _left_out(lines, models, shown)),),
                        {"challenge": challenge.id})  # fmt: skip


def _left_out(lines: Sequence[Series], models: Sequence[str], shown: Sequence[str]) -> str:
    parts = []
    if len(shown) > (count := len(number_models(lines, models))):
        parts.append(f"the first {count} of {len(shown)} models are drawn")
    if len(lines) > MOST_LINES:
        parts.append(f"the first {MOST_LINES} of {len(lines)} lines are drawn")
    return "; ".join(parts)


def _row(line: Series, models: Sequence[str]) -> tuple[str, ...]:
    by_model = {point.model: point for point in line.points}
    return line.label, *(_text(by_model.get(model)) for model in models)


def _text(point: Point | None) -> str:
    if point is None:
        return "–"
    if point.low is None or point.high is None:
        return formatting.number(point.value)
    return f"{formatting.number(point.value)} [{formatting.number(point.low)}, {formatting.number(point.high)}]"


def number_models(lines: Sequence[Series], models: Sequence[str]) -> dict[str, int]:
    """Return the drawn models with their colour numbers: at most one per colour, the first ones with a figure.

    While the colours suffice for all models, each keeps its colour in every figure.
    """
    present = {point.model for line in lines for point in line.points}
    if len(models) <= len(MARKERS):
        return {model: number for number, model in enumerate(models) if model in present}
    return {model: number for number, model in enumerate([m for m in models if m in present][: len(MARKERS)])}


def draw(title: str, lines: Sequence[Series], models: Sequence[str], axis: FigureAxis) -> Markup:
    """Draw every model's figure as a dot with its interval, a line per quantity.

    Args:
        lines: top to bottom.
        models: in the order of colours and markers; see `number_models`.
    """
    shown, numbers = lines[:MOST_LINES], number_models(lines, models)
    labels = [plain(line.label, _LABEL) for line in shown]
    left, right = 16 + _LETTER * max(map(len, labels), default=0), _WIDTH - 14
    lanes = max(numbers.values(), default=0) + 1
    lane = max(_LANE, 8 * lanes)
    top = 30 + 18 * math.ceil(len(numbers) / _NAMES_IN_ROW)
    bottom = top + lane * len(shown)
    values = [v for line in shown for point in line.points for v in (point.value, point.high) if v is not None]
    low, high, ticks = _ends(axis, [value for value in values if not math.isnan(value)])

    def across(value: float) -> float:
        inside = min(max(value, FLOOR if axis.log else low), CEILING if axis.log else high)
        share = (math.log10(inside / low) / math.log10(high / low)) if axis.log else (inside - low) / (high - low)
        return round(left + share * (right - left), 2)

    points = [
        (number, across(p.value), round(top + lane * (row + 0.5 + 0.7 * ((number + 0.5) / lanes - 0.5)), 2),
         *_span(p, across))
        for row, line in enumerate(shown)
        for p in line.points
        if (number := numbers.get(p.model)) is not None and (axis.log or math.isfinite(p.value))
    ]  # fmt: skip
    each = enumerate(numbers.items())
    legend = [(n, 8 + 178 * (i % _NAMES_IN_ROW), 10 + 18 * (i // _NAMES_IN_ROW), plain(m, _NAME)) for i, (m, n) in each]
    return render(
        "dots.svg.j2", title=title, width=_WIDTH, height=bottom + 38, legend=legend, markers=MARKERS, lane=lane,
        rows=[(top + lane * (row + 0.5), label) for row, label in enumerate(labels)], left=round(left, 2), right=right,
        top=top, bottom=bottom, marks=[(across(value), meaning) for value, meaning in axis.marks],
        ticks=[(across(value), label) for value, label in ticks], axis=axis.label, points=points,
    )  # fmt: skip


def _span(point: Point, across: Callable[[float], float]) -> tuple[float | None, float | None]:
    if point.low is None or point.high is None or not (math.isfinite(point.low) and math.isfinite(point.high)):
        return None, None
    return across(point.low), across(point.high)


def _ends(axis: FigureAxis, values: Sequence[float]) -> tuple[float, float, list[tuple[float, str]]]:
    """Return the ends of an axis, and its ticks with their labels."""
    low, high = axis.least
    if not axis.log:
        finite = [value for value in values if math.isfinite(value)]
        margin = 0.04 * (high - low)
        low, high = min([low, *(v - margin for v in finite)]), max([high, *(v + margin for v in finite)])
        step = 10 ** math.floor(math.log10(high - low)) / 2
        step *= max(1, round((high - low) / step / 8))
        ticks = [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
        return low, high, [(tick, f"{tick:g}") for tick in ticks]
    last = math.ceil(math.log10(max([high, *(min(value, CEILING) for value in values)])))
    first = round(math.log10(FLOOR))
    powers = range(first, last + 1, max(1, round((last - first) / 9)))
    return FLOOR, 10.0**last * 1.5, [(10.0**n, f"10{str(n).translate(_SUPERSCRIPTS)}") for n in powers]


def _losses(ordered: Ordered) -> Iterator[Block]:
    found = [(challenge, loss) for challenge, records in ordered for loss in losses(records)]
    for challenge, loss in found[:MOST_MAPS]:
        title = f"{loss.name}: {loss.said}"
        yield Group((Figure(title, render("loss.svg.j2", title=title, loss=loss)),), {"challenge": challenge.id})


KINDS = (
    ("error-ratios", "Error ratios", "Distance to a long-double oracle over what the numbers themselves allow, on a "
     "logarithmic axis: the worst of each ladder of dtypes, offsets and scales, and the worst input that failed. What "
     "lies below a thousandth is drawn at the left edge.", "No record holds an error ratio."),
    ("scaling", "How cost grows", "Exponent of processor time against size, with its interval where the record holds "
     "one.", "No record holds an exponent of cost."),
    ("timing", "Time against the reference", "Time of a call over that of the reference, taken in turns, with the "
     "interval of the ratio: under 1 is faster. What is wrong while it is timed has no ratio.",
     "No record holds a time ratio."),
    ("losses", "Loss maps", "Where winners lie, or which rows they are in, when they are lost: planted by probes, seen "
     "from outside.", "No record names lost columns or rows. A submission that does not build was never asked."),
)  # fmt: skip
"""Id, title and explanation of each kind of figure, and what stands there without any."""


def figures_section(
    challenges: Sequence[Challenge], records: Sequence[Record], models: Sequence[str]
) -> Iterator[Block]:
    """Yield all figures under their headings."""
    found = figure_blocks(challenges, records, models)
    for id, title, explained, missing in KINDS:
        yield Heading(title, 3, id)
        yield Paragraph(explained, "lead")
        yield from found[id] or (Paragraph(missing),)
