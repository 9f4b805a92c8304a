"""Checks of runs under watch, in which the device records every memory access."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from harness.cuda.emulator.device_trace import DeviceDefect, Report
from harness.model import Location, Observation
from harness.probing.answers import Answer
from harness.probing.failures import NotMeasurable, ProbeFailure, WrongOutputs
from harness.probing.launching import REFUSED, DeviceCall
from harness.probing.submissions.device import located

Run = TypeVar("Run")

ORDER = {
    "shared_race": "threads race for shared memory",
    "global_race": "threads race for global memory",
    "barrier_divergence": "threads of a block part at a barrier",
    "inactive_lane": "a lane takes what no lane gave",
    "deadlock": "threads wait for each other for ever",
    "runaway": "a kernel does not end",
}
"""Defects in the order of threads. All others, except refused launches, are bad memory accesses."""
ACCESS = {
    "out_of_bounds": "memory out of bounds is touched",
    "uninitialized_read": "reads uninitialised memory",
    "misaligned": "a misaligned address is used",
}


def require_launches(call: DeviceCall, where: str) -> Report:
    """Return the report of a call in mode check or count, and require a launch.

    Raises:
        CallRefused: the device or the submission refuses the call.
    """
    if call.defects:
        return call.report
    if call.code or (call.report.found() and not call.report.launches):
        raise call.failure(where)
    if not call.report.launches:
        raise ProbeFailure("nothing is launched", where)
    return call.report


def require_sound_accesses(answer: Answer, report: Report, where: str) -> None:
    """Require accesses in bounds, to initialised, allocated and aligned memory."""
    _require_none(answer, report, where, ACCESS, lambda kind: kind not in (*ORDER, REFUSED))


def require_order(answer: Answer, report: Report, where: str) -> None:
    """Require race-free accesses, and barriers that all threads reach."""
    _require_none(answer, report, where, ORDER, lambda kind: kind in ORDER)


def require_same_work(judge: Callable[[Run], object], watched: Callable[[], Run], plainly: Callable[[], Run]) -> Run:
    """Return a watched run, and require right results, so that the watched code is the graded code.

    Args:
        judge: raises `ProbeFailure` for wrong results.
        watched: makes the call in mode check or count.
        plainly: makes it in mode plain.

    Raises:
        ProbeFailure: the call fails, or its result is wrong only under watch.
        NotMeasurable: the result is wrong in both modes, which other criteria judge.
    """
    try:
        run = watched()
    except WrongOutputs as incomplete:
        raise _explain_wrong(incomplete, judge, plainly) from None
    wrong = _find_failure(judge, lambda: run)
    if wrong is not None:
        raise _explain_wrong(wrong, judge, plainly)
    return run


def _explain_wrong(seen: ProbeFailure, judge: Callable[[Run], object], plainly: Callable[[], Run]) -> Exception:
    if _find_failure(judge, plainly) is None:
        title = "a run that is watched does other work than one that is not"
        return ProbeFailure(title, f"under watch {seen.title}: {seen.detail}", where=seen.where)
    return NotMeasurable(f"the result is wrong here, so how it comes about is not assessed: {seen.title}")


def _find_failure(judge: Callable[[Run], object], run: Callable[[], Run]) -> ProbeFailure | None:
    try:
        judge(run())
    except ProbeFailure as failure:
        return failure
    return None


def _require_none(
    answer: Answer, report: Report, where: str, titles: Mapping[str, str], concerned: Callable[[str], bool]
) -> None:
    if not any(concerned(defect.kind) for defect in report.found()):
        return
    kinds = dict[str, list[DeviceDefect]]()
    for defect in located(answer, report).found():
        if concerned(defect.kind):
            kinds.setdefault(defect.kind, []).append(defect)
    seen = [_make_observation(titles, where, defects) for defects in kinds.values()]
    first = next(iter(kinds.values()))[0]
    raise ProbeFailure(
        seen[0].title,
        seen[0].detail,
        where=_format_place(first),
        diagnosis=_make_diagnosis(first),
        locations=seen[0].locations,
        defect=first.kind,
        also=seen[1:],
    )


def _make_observation(titles: Mapping[str, str], where: str, defects: Sequence[DeviceDefect]) -> Observation:
    first, more = defects[0], len(defects) - 1
    others = f"; {more} more such place{'s' * (more != 1)}" if more else ""
    title = titles.get(first.kind, first.kind.replace("_", " "))
    return Observation(
        title=title, detail=f"{where}: {_describe(first)}{others}", locations=tuple(_find_locations(first))
    )


def _describe(defect: DeviceDefect) -> str:
    thread = f", block {defect.block[0]}, thread {defect.thread[0]}" if defect.block and defect.thread else ""
    kernel = f" in `{defect.kernel}`{thread}" if defect.kernel else ""
    times = f", {defect.count} times" if defect.count > 1 else ""
    return f"{defect.text}{kernel}{times}"


def _format_place(defect: DeviceDefect) -> str:
    return f"{defect.file}:{defect.line}" if defect.file and defect.line else ""


def _find_locations(defect: DeviceDefect) -> Iterator[Location]:
    for place in (defect, defect.other):
        if place is not None and place.file and place.line:
            yield from Location.within(place.file, place.line, defect.kernel or "")


def _make_diagnosis(defect: DeviceDefect) -> str | None:
    place, other = _format_place(defect), defect.other
    if not place or other is None or not other.file or not other.line:
        return None
    return f"{place} and {other.file}:{other.line} use the same place without order"
