"""Every format that results are written in: the one registry that all commands ask.

A format is one entry here. It names what it can write by attributes that load their modules late, so that help and
errors need none of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

    from harness.report.document import Block
    from harness.report.views.inputs import ReportInputs


@dataclass(frozen=True)
class Result:
    """The findings of a command, for any format that writes results; every part is made on demand.

    A terminal shows `brief` instead of the `document` where given, and the `notes` beside it. Links lead from `path`
    below the reports.
    """

    document: "Callable[[], Iterable[Block]]"
    data: Callable[[], Any]
    rows: Callable[[], tuple[Sequence[str], Iterable[Sequence[object]]]]
    path: str = ""
    brief: "Callable[[], Iterable[Block]] | None" = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReportFormat:
    """A format; what it writes are `module:function` of this package, empty for what it does not.

    It may write a `result`, all `records` of a workspace as one file, a part of a long `table` as text, all `parts` of
    one into an open file, or the runs of a checked `program`; `needs` is a package beside the base ones.
    """

    name: str
    help: str
    result: str = ""
    records: str = ""
    table: str = ""
    parts: str = ""
    program: str = ""
    needs: str = ""


FORMATS: tuple[ReportFormat, ...] = (
    ReportFormat("table", "for a terminal", result="writers.result:as_table"),
    ReportFormat("md", "Markdown", result="writers.result:as_markdown"),
    ReportFormat("html", "a part of an HTML page", result="writers.result:as_html"),
    ReportFormat("json", "JSON", result="writers.result:as_json", program="exports.programs:as_json"),
    ReportFormat(
        "csv", "CSV that spreadsheets open safely", "writers.result:as_csv", table="exports.data_files:as_csv"
    ),
    ReportFormat("jsonl", "JSON Lines", table="exports.data_files:as_json_lines"),
    ReportFormat("parquet", "Parquet; needs pyarrow", parts="exports.data_files:write_parquet", needs="pyarrow"),
    ReportFormat("junit", "criteria as JUnit test cases", records="exports.junit:write"),
    ReportFormat(
        "sarif", "findings as SARIF 2.1.0", records="exports.sarif:write", program="exports.programs:as_sarif"
    ),
)


def named(*kinds: str) -> Mapping[str, ReportFormat]:
    """Return the formats that write any of these kinds (`result`, `records` and so on), by name."""
    return {each.name: each for each in FORMATS if any(getattr(each, kind) for kind in kinds)}


def load(function: str) -> Callable[..., Any]:
    """Return a function of this package by `module:function`."""
    module, _, name = function.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"harness.report.{module}"), name)
    return found


def write(result: Result, format: str) -> "str | RenderableType":
    """Return a result as text, or laid out for a terminal."""
    written: str | RenderableType = load(named("result")[format].result)(result)
    return written


def write_records(inputs: "ReportInputs", format: str) -> str:
    """Return the records of a workspace as one file."""
    return str(load(named("records")[format].records)(inputs))
