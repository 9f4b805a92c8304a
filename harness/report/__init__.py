"""Reports: a pure function of challenges, records and reviews. Nothing here runs code."""

from harness.report.files import render_all, write
from harness.report.material import Material, gather, measured
from harness.report.scoreboard import Scoreboard, as_csv, as_json, as_markdown, as_table, scoreboard
from harness.report.show import show
from harness.report.source import Source

__all__ = [
    "Material",
    "Scoreboard",
    "Source",
    "as_csv",
    "as_json",
    "as_markdown",
    "as_table",
    "gather",
    "measured",
    "render_all",
    "scoreboard",
    "show",
    "write",
]
