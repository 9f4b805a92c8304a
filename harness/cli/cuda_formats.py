"""What `harness cuda check` found, for code hosts: SARIF, and commands that GitHub shows beside the lines."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness import __version__
from harness.cli.cuda_output import headline, kind_name
from harness.cuda.program import ProgramRun, ProgramSource
from harness.cuda.program_faults import ProgramFault, program_faults
from harness.cuda.report import DeviceLocation
from harness.report import sarif

_LEVEL = {"error": "error", "warning": "warning", "info": "note"}
_COMMAND = {"error": "error", "warning": "warning", "info": "notice"}


def as_sarif(source: ProgramSource, runs: Sequence[ProgramRun], here: Path) -> str:
    """The findings as SARIF 2.1.0, a rule for each kind.

    Args:
        source: the program.
        runs: one for each schedule.
        here: the folder that paths are relative to, where the program lies in it.
    """
    found = program_faults(runs)
    kinds = list(dict.fromkeys(finding.defect.kind for finding in found))
    results = []
    for finding in found:
        first, *others = [_location(source, place, here) for place in finding.places()]
        result = {
            "ruleId": finding.defect.kind,
            "ruleIndex": kinds.index(finding.defect.kind),
            "level": _LEVEL[finding.defect.severity],
            "message": sarif.message(_said(finding)),
            "locations": [first],
        }
        results.append(result | ({"relatedLocations": others} if others else {}))
    stopped = headline(runs, found) if any(run.unchecked or run.failed for run in runs) else ""
    return sarif.document(
        __version__, [{"id": kind, "shortDescription": sarif.message(kind_name(kind))} for kind in kinds], results,
        notifications=[stopped] if stopped else [],
        roots={sarif.ROOT: {"description": {"text": "The folder that the check was started in."}}},
    )  # fmt: skip


def annotations(source: ProgramSource, runs: Sequence[ProgramRun], here: Path) -> Iterator[str]:
    """A workflow command of GitHub for each finding.

    The form is that of "Workflow commands for GitHub Actions": `::error file=...,line=...,title=...::message`.
    """
    for finding in program_faults(runs):
        defect = finding.defect
        at = {"title": kind_name(defect.kind)}
        if defect.file is not None and defect.line is not None:
            at = {"file": _path(source, defect.file, here), "line": str(defect.line), **at}
        parameters = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in at.items())
        yield f"::{_COMMAND[defect.severity]} {parameters}::{_escaped(_said(finding))}"
    if any(run.unchecked for run in runs):
        yield f"::warning title=not everything was checked::{_escaped(headline(runs, program_faults(runs)))}"


def _said(finding: ProgramFault) -> str:
    defect = finding.defect
    return "\n".join([defect.text, *finding.others, *([f"in kernel {defect.kernel}"] if defect.kernel else [])])


def _escaped(text: str, more: str = "") -> str:
    return "".join(f"%{ord(c):02X}" if c in "%\r\n" + more else c for c in text)


def _location(source: ProgramSource, place: DeviceLocation, here: Path) -> dict[str, object]:
    """A place, of a fault without one the program's first file."""
    return sarif.location(_path(source, place.file or source.entries[0], here), place.line or None)


def _path(source: ProgramSource, file: str, here: Path) -> str:
    path = source.folder / file
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else file
