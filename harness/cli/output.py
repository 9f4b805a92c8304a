"""Output streams: results on stdout, the rest on stderr; colours and live displays only on a terminal."""

import io
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TextIO

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDTH = 120
"""Columns of output to a file or a pipe; the environment variable COLUMNS overrides it."""
TELL_SECONDS = 30.0
"""Seconds between two lines on speed, without a live line."""


def line(text: str = "") -> None:
    """Print a result."""
    _print(clean(text), sys.stdout)


def note(text: str) -> None:
    """Print a message that is not a result."""
    _print(clean(text), sys.stderr)


def data(value: Any) -> None:
    """Print a result as JSON."""
    import json

    _print(json.dumps(value, indent=1, allow_nan=False), sys.stdout)


def table(
    titles: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str] = (), wraps: Sequence[str] = ()
) -> None:
    """Print a table of results.

    Args:
        right: titles of right-aligned columns.
        wraps: titles of columns that wrap if the table is too wide.
    """
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    side: Literal["left", "right"]
    for title in titles:
        side = "right" if title in right else "left"
        drawn.add_column(title, justify=side, overflow="fold", no_wrap=title not in wraps)
    for row in rows:
        drawn.add_row(*(Text(" ".join(clean(str(cell)).split())) for cell in row))
    show(drawn)


def pairs(values: Mapping[str, str]) -> None:
    """Print names and values in two columns, without empty values."""
    from rich.table import Table
    from rich.text import Text

    drawn = Table.grid(padding=(0, 2, 0, 0))
    for name, value in values.items():
        if value:
            drawn.add_row(
                Text(name, style="bold"), Text("\n".join(" ".join(t.split()) for t in clean(value).splitlines()))
            )
    show(drawn)


def show(renderable: "RenderableType") -> None:
    """Print a rich renderable: in colour on a terminal, as plain lines elsewhere."""
    print_drawing(draw(renderable))


def draw(renderable: "RenderableType") -> str:
    """Return a rich renderable as text for this stdout."""
    from rich.console import Console

    console = Console() if sys.stdout.isatty() else Console(file=io.StringIO(), width=_get_width(), color_system=None)
    with console.capture() as capture:
        console.print(renderable)
    return "\n".join(text.rstrip() for text in capture.get().splitlines())


def lay_out(written: "str | RenderableType") -> str:
    """Return what a format wrote as text for this stdout."""
    return clean(written.removesuffix("\n")) if isinstance(written, str) else draw(written)


def print_drawing(text: str) -> None:
    """Print the output of `draw`."""
    _print(text, sys.stdout)


def look() -> str:
    """Return a key of all properties of stdout that affect `draw`."""
    colour = [os.environ.get(name, "") for name in ("TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR")]
    return " ".join(["terminal" if sys.stdout.isatty() else "plain", str(_get_width()), *colour])


def _get_width() -> int:
    return shutil.get_terminal_size((WIDTH, 24)).columns


def place(path: Path) -> str:
    """Return the path relative to the current folder if it lies there."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def clean(text: str) -> str:
    """Replace control characters, so that a submission's text cannot steer the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


class ProgressLine:
    """Progress on stderr: a live line on a terminal, else a line per finished step.

    Args:
        places: returns a phrase on where the steps run, or "".
    """

    def __init__(self, total: int, places: Callable[[], str] = str) -> None:
        self._bar: Any = None
        self._total = total
        self._places = places
        self._running: dict[str, str] = {}
        self._since: dict[str, float] = {}
        self._ended = 0
        self._begun = self._told = time.monotonic()

    def now(self, what: str, stage: str = "") -> None:
        """Show that `what` is in progress."""
        self._running[what] = stage
        self._since.setdefault(what, time.monotonic())
        self._show()

    @property
    def running(self) -> int:
        """Number of steps in progress."""
        return len(self._running)

    def seconds(self, what: str) -> float:
        """Return the wall time since `what` was first in progress, or 0."""
        now = time.monotonic()
        return now - self._since.get(what, now)

    def done(self, what: str, message: str = "") -> None:
        """Count `what` as finished; without a live line, print `message`."""
        self._running.pop(what, None)
        self._ended += 1
        if self._bar is None:
            note(message or what)
            if time.monotonic() - self._told > TELL_SECONDS and self._ended < self._total:
                self._told = time.monotonic()
                note(f"{self._ended} of {self._total}: {self._format_pace()}")
        else:
            self._bar.advance(self._task)
            self._show()

    def _format_pace(self) -> str:
        rate = self._ended / max(time.monotonic() - self._begun, 1e-9)
        left = (self._total - self._ended) / rate if self._ended else 0
        share = f"{100 * self._ended // max(self._total, 1)} % done" if self._ended else ""
        pace = f"{_format_seconds(1 / rate)} each" if self._ended else ""
        return ", ".join(filter(None, [self._places(), share, pace, f"{_format_seconds(left)} left" if left else ""]))

    def _show(self) -> None:
        if self._bar is not None:
            steps = (f"{what}: {stage}" if stage else what for what, stage in self._running.items())
            doing = ", ".join(filter(None, [self._format_pace(), *steps]))
            self._bar.update(self._task, description=clean(doing)[:100])

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            doing = TextColumn("{task.description}", markup=False)
            columns = (BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), doing)
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=self._total)
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _format_seconds(seconds: float) -> str:
    if seconds < 9.95:
        return f"{seconds:.2g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def _print(text: str, stream: TextIO) -> None:
    try:
        print(text, file=stream)
    except BrokenPipeError:  # the reader closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
