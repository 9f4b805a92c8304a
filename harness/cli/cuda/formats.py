"""Findings of `harness cuda check` for code hosts: SARIF, and GitHub annotations."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness import __version__
from harness.cli.cuda.output import headline, kind_name
from harness.cuda.emulator.device_trace import DeviceLocation
from harness.cuda.programs.faults import ProgramFault, program_faults
from harness.cuda.programs.program import ProgramRun, ProgramSource
from harness.report.exports import sarif

_LEVEL = {"error": "error", "warning": "warning", "info": "note"}
_COMMAND = {"error": "error", "warning": "warning", "info": "notice"}


def as_sarif(source: ProgramSource, runs: Sequence[ProgramRun], here: Path) -> str:
    """Return the findings as SARIF 2.1.0, with a rule per kind.

    Args:
        runs: one run per schedule.
        here: base of relative paths, for a program that lies in it.
    """
    found = program_faults(runs)
    kinds = list(dict.fromkeys(finding.defect.kind for finding in found))
    results = []
    for finding in found:
        first, *others = [_build_location(source, place, here) for place in finding.places()]
        result = {
            "ruleId": finding.defect.kind,
            "ruleIndex": kinds.index(finding.defect.kind),
            "level": _LEVEL[finding.defect.severity],
            "message": sarif.message(_format_message(finding)),
            "locations": [first],
        }
        results.append(result | ({"relatedLocations": others} if others else {}))
    stopped = headline(runs, found) if any(run.unchecked or run.failed for run in runs) else ""
    return sarif.document(
        __version__,
        [{"id": kind, "shortDescription": sarif.message(kind_name(kind))} for kind in kinds],
        results,
        notifications=[stopped] if stopped else [],
        roots={sarif.ROOT: {"description": {"text": "The folder that the check was started in."}}},
    )


def annotations(source: ProgramSource, runs: Sequence[ProgramRun], here: Path) -> Iterator[str]:
    """Yield a GitHub workflow command for each finding.

    Its form is `::error file=...,line=...,title=...::message`; see "Workflow commands for GitHub Actions".
    """
    for finding in program_faults(runs):
        defect = finding.defect
        at = {"title": kind_name(defect.kind)}
        if defect.file is not None and defect.line is not None:
            at = {"file": _shorten_path(source, defect.file, here), "line": str(defect.line), **at}
        parameters = ",".join(f"{name}={_escape(value, ':,')}" for name, value in at.items())
        yield f"::{_COMMAND[defect.severity]} {parameters}::{_escape(_format_message(finding))}"
    if any(run.unchecked for run in runs):
        yield f"::warning title=not everything was checked::{_escape(headline(runs, program_faults(runs)))}"


def _format_message(finding: ProgramFault) -> str:
    defect = finding.defect
    return "\n".join([defect.text, *finding.others, *([f"in kernel {defect.kernel}"] if defect.kernel else [])])


def _escape(text: str, more: str = "") -> str:
    return "".join(f"%{ord(c):02X}" if c in "%\r\n" + more else c for c in text)


def _build_location(source: ProgramSource, place: DeviceLocation, here: Path) -> dict[str, object]:
    """Return a SARIF location; without a file, that of the program's first file."""
    return sarif.location(_shorten_path(source, place.file or source.entries[0], here), place.line or None)


def _shorten_path(source: ProgramSource, file: str, here: Path) -> str:
    path = source.folder / file
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else file
