"""Reports: a pure function of challenges and records. Nothing here runs code or needs a submission."""

from harness.report.files import render_all, write
from harness.report.scoreboard import Scoreboard, as_csv, as_json, as_markdown, as_table, scoreboard
from harness.report.show import show

__all__ = [
    "Scoreboard",
    "as_csv",
    "as_json",
    "as_markdown",
    "as_table",
    "render_all",
    "scoreboard",
    "show",
    "write",
]
