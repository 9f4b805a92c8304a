"""Drawings of measurements and of losses."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.report.escape import plain
from harness.report.page.losses import DrawnLoss
from harness.report.page.series import Point, Series
from harness.report.page.svg import BAD, INK, LINE, MUTED, SERIES, inlined, reproducible

MARKERS = "osD^vPX*"
"""One per colour, so that readers need not tell colours apart."""
MOST_LINES = 60
"""Most lines drawn per figure; its table holds all."""
FLOOR, CEILING = 1e-3, 1e21
"""Limits of a logarithmic axis; figures outside are drawn at the edge."""

_WIDTH, _TOP, _BOTTOM = 7.6, 0.25, 0.4
"""Width of a drawing, and room for marks and axis, in inches of 72 units."""
_LETTER = 0.085
"""Width of a letter, in inches."""
_LABEL, _NAME = 40, 26
"""Longest line label and legend name, in letters."""
_NAMES_IN_ROW = 4
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class FigureAxis:
    """The axis of a figure.

    Attributes:
        marks: special values and their meanings; the last one's text stands to its right.
        least: ends of the range that is always visible.
        log: True for a logarithmic axis.
    """

    label: str
    marks: tuple[tuple[float, str], ...]
    least: tuple[float, float]
    log: bool = False


@reproducible()
def dots(name: str, title: str, lines: Sequence[Series], models: Sequence[str], axis: FigureAxis) -> Markup:
    """Draw every model's figure as a dot with its interval, a line per quantity.

    Args:
        name: unique among the page's drawings.
        lines: top to bottom.
        models: in the order of colours and markers; see `drawn`.
    """
    shown = lines[:MOST_LINES]
    numbers = drawn(lines, models)
    lanes = max(numbers.values(), default=0) + 1
    legend = 0.05 + 0.2 * math.ceil(len(numbers) / _NAMES_IN_ROW)
    lane = max(0.26, 0.085 * lanes)
    labels = [plain(line.label, _LABEL) for line in shown]
    axes = _axes(_TOP + legend, lane * len(shown), labels)
    axes.set_yticks(range(len(shown)), labels, color=INK)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.hlines([n + 0.5 for n in range(len(shown) - 1)], 0, 1, LINE, lw=0.6, transform=axes.get_yaxis_transform())
    _scale(axes, axis, [value for line in shown for point in line.points for value in (point.value, point.high)])
    for row, line in enumerate(shown):
        for point in line.points:
            if point.model in numbers:
                number = numbers[point.model]
                _dot(axes, point, row + 0.7 * ((number + 0.5) / lanes - 0.5), number, axis.log)
    _legend(axes, numbers)
    return _finished(axes, name, title)


def drawn(lines: Sequence[Series], models: Sequence[str]) -> dict[str, int]:
    """Return the drawn models with their colour numbers: at most one per colour, the first ones with a figure.

    While the colours suffice for all models, each keeps its colour in every figure.
    """
    present = {point.model for line in lines for point in line.points}
    if len(models) <= len(SERIES):
        return {model: number for number, model in enumerate(models) if model in present}
    return {model: number for number, model in enumerate([m for m in models if m in present][: len(SERIES)])}


@reproducible()
def loss_map(name: str, loss: DrawnLoss) -> Markup:
    """Draw a strip with the lost places marked, or bars of the share found by distance."""
    title = f"{loss.name}: {loss.said}"
    if loss.unit:
        axes = _axes(0.05, 0.35, [])
        axes.broken_barh([(0, loss.size)], (0, 1), facecolor=LINE)
        axes.broken_barh(list(loss.runs), (0, 1), facecolor=BAD)
        axes.set_xlim(0, loss.size)
        axes.set_ylim(0, 1)
        axes.set_yticks([])
        axes.set_xlabel(f"{loss.unit} 0 to {loss.size - 1:,}; what is lost is marked", color=MUTED)
        return _finished(axes, name, title)
    rows = range(len(loss.found))
    labels = [f"{distance:,} apart" for distance, _ in loss.found]
    axes = _axes(0.05, 0.22 * len(rows), labels)
    axes.barh(rows, [1.0 for _ in rows], 0.7, color=LINE)
    axes.barh(rows, [share for _, share in loss.found], 0.7, color=SERIES[0])
    axes.set_yticks(list(rows), labels, color=INK)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of the winners that is found", color=MUTED)
    return _finished(axes, name, title)


def _axes(top: float, height: float, labels: Sequence[str]) -> Axes:
    """Return axes with room for their labels; sizes are in inches."""
    whole = top + height + _BOTTOM
    figure = Figure(figsize=(_WIDTH, whole))
    figure.patch.set_visible(False)
    left = 0.03 + _LETTER * max(map(len, labels), default=0) / _WIDTH
    axes = figure.add_axes((left, _BOTTOM / whole, 0.98 - left, height / whole))
    axes.patch.set_visible(False)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(LINE)
    axes.tick_params(length=0, labelcolor=MUTED)
    axes.tick_params(axis="y", pad=9)
    return axes


def _finished(axes: Axes, name: str, title: str) -> Markup:
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    return inlined(figure, name, title)


def _scale(axes: Axes, axis: FigureAxis, values: Sequence[float | None]) -> None:
    known = [value for value in values if value is not None and not math.isnan(value)]
    axes.set_xlabel(axis.label, color=MUTED)
    for number, (value, meaning) in enumerate(axis.marks, 1):
        axes.axvline(value, color=MUTED, lw=1, ls=(0, (4, 3)))
        side, away = ("left", 4) if number == len(axis.marks) else ("right", -4)
        axes.annotate(
            meaning,
            (value, 1),
            (away, 2),
            ("data", "axes fraction"),
            "offset points",
            color=MUTED,
            ha=side,
            va="bottom",
            annotation_clip=False,
        )
    low, high = axis.least
    if not axis.log:
        finite = [value for value in known if math.isfinite(value)]
        margin = 0.04 * (high - low)
        axes.set_xlim(min([low, *(value - margin for value in finite)]), max([high, *(v + margin for v in finite)]))
        return
    last = math.ceil(math.log10(max([high, *(min(value, CEILING) for value in known)])))
    first = round(math.log10(FLOOR))
    powers = range(first, last + 1, max(1, round((last - first) / 9)))
    axes.set_xscale("log")
    axes.set_xlim(FLOOR, 10.0**last * 1.5)
    axes.set_xticks([10.0**n for n in powers], [f"10{str(n).translate(_SUPERSCRIPTS)}" for n in powers])
    axes.minorticks_off()


def _dot(axes: Axes, point: Point, height: float, number: int, log: bool) -> None:
    value = min(max(point.value, FLOOR), CEILING) if log else point.value
    if not math.isfinite(value):
        return
    if point.low is not None and point.high is not None and math.isfinite(point.low) and math.isfinite(point.high):
        axes.hlines(height, point.low, point.high, SERIES[number], lw=1.6)
    axes.plot([value], [height], MARKERS[number], color=SERIES[number], ms=5, clip_on=False)


def _legend(axes: Axes, numbers: dict[str, int]) -> None:
    for model, number in numbers.items():
        axes.plot([], [], MARKERS[number], color=SERIES[number], ms=5, label=plain(model, _NAME))
    figure = axes.get_figure()
    assert figure is not None
    figure.legend(
        loc="upper left",
        bbox_to_anchor=(0, 1),
        ncols=_NAMES_IN_ROW,
        frameon=False,
        labelcolor=INK,
        borderaxespad=0,
        borderpad=0.2,
        handletextpad=0.2,
        columnspacing=1.2,
    )
