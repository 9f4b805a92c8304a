"""Findings of `harness cuda check` for other programs: JSON, SARIF, and GitHub annotations."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness import __version__
from harness.cuda.emulator.device_trace import DeviceLocation
from harness.cuda.programs import self_reported_failures
from harness.cuda.programs.faults import SEVERITIES, ProgramFault, program_faults
from harness.cuda.programs.program import ProgramRun, ProgramSource
from harness.report.exports import sarif

_LEVEL = {"error": "error", "warning": "warning", "info": "note"}
_COMMAND = {"error": "error", "warning": "warning", "info": "notice"}


def as_json(source: ProgramSource, runs: Sequence[ProgramRun], here: Path) -> str:
    """Return the runs as JSON, with paths as they were given."""
    return json.dumps(as_data(source, runs), indent=1, allow_nan=False) + "\n"


def as_data(source: ProgramSource, runs: Sequence[ProgramRun]) -> dict[str, Any]:
    """Return the runs as plain data."""
    return {
        "files": list(source.entries),
        "set": list(source.changed),
        "checked": not explain_incomplete_run(runs),
        "findings": [
            {
                **found.defect.model_dump(mode="json"),
                "count": found.count,
                "at_least": found.at_least,
                "schedules": found.schedules,
                "also": found.others,
                "also_in_kernels": found.kernels,
                "may_follow_from": found.cause and [found.cause.defect.file, found.cause.defect.line],
            }
            for found in program_faults(runs)
        ],
        "runs": [
            {
                "seed": run.seed,
                "ended": run.ended,
                "unchecked": run.unchecked,
                "says_it_failed": self_reported_failures.failures(run.completed.output),
                "exit_status": run.completed.returncode,
                "output": run.completed.output,
                "report": run.report and run.report.model_dump(mode="json"),
            }
            for run in runs
        ],
    }


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


def explain_incomplete_run(runs: Sequence[ProgramRun]) -> str:
    """Return why the first incompletely checked run is so, or ""."""
    return next((run.unchecked for run in runs if run.unchecked), "")


def headline(runs: Sequence[ProgramRun], found: Sequence[ProgramFault]) -> str:
    """Return a summary of the findings; `no defect found` requires that everything was checked."""
    counts = {severity: sum(f.defect.severity == severity for f in found) for severity in SEVERITIES}
    said = [f"{n} {severity}{'s' if n > 1 and severity != 'info' else ''}" for severity, n in counts.items() if n]
    launches = max((run.launches for run in runs), default=0)
    made = f"{launches} kernel launch{'es' if launches != 1 else ''}"
    seeds = f"schedule {runs[0].seed}" if len(runs) == 1 else f"schedules {runs[0].seed} to {runs[-1].seed}"
    why = explain_incomplete_run(runs)
    if why:
        summary = ", ".join(said) or "nothing found in what was run"
        if any(run.cut_off for run in runs):
            return f"{summary}, {seeds}; stopped after {made}, so not everything was checked: {why}"
        return f"{summary}, {made}, {seeds}; not everything was checked: {why}"
    if not launches and not said:
        return f"no kernel was launched, so nothing was checked on the device, {seeds}"
    return f"{', '.join(said) or 'no defect found'}, {made}, {seeds}"


def kind_name(kind: str) -> str:
    """Return the readable name of a kind of defect."""
    return kind.replace("_", " ")


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
