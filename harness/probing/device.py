"""An answer in CUDA on the emulated device: a boxed answer whose reports can name the author's lines."""

from collections.abc import Collection
from pathlib import Path

from harness.cuda.report import Report
from harness.cuda.symbols import resolve
from harness.probing.answers import Answer, BoxedAnswer

CHECKED = "instrumented.so"
"""The build whose reports hold addresses."""


class EmulatedAnswer(BoxedAnswer):
    """As any boxed answer; the box holds the driver and both builds."""

    sources: Collection[str] = ()
    """The answer's files, relative to its folder."""


def located(answer: Answer, report: Report) -> Report:
    """The report with the author's file and line in place of addresses, where the build can be asked."""
    if not isinstance(answer, EmulatedAnswer) or not report.defects:
        return report
    return resolve(report, Path(answer.target.folder) / CHECKED, answer.sources)
