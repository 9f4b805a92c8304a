"""Reports: a pure function of challenges, records and reviews. Nothing here runs code."""

from harness.report.inputs import ReportInputs, gather, measured
from harness.report.mark_source import MarkSource
from harness.report.pages import render_all, write
from harness.report.record_view import show
from harness.report.scoreboard import Scoreboard, as_csv, as_json, as_markdown, as_table, scoreboard

__all__ = [
    "MarkSource",
    "ReportInputs",
    "Scoreboard",
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
