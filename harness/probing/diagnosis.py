"""Names for faults, from call-by-call comparisons with known wrong answers."""

import contextlib
import copy
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from harness.errors import HarnessError
from harness.model import Counterexample, Diagnosis, Evidence, Outcome
from harness.probing.answers import Answer
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.challenge_code.mutants import NUMBER, Mutant
from harness.probing.failures import CallTimedOut, NotRun, ProbeFailure, Spared
from harness.probing.probe import Probe, ProbeResult, once
from harness.probing.sizes import DRAW, Case
from harness.probing.submissions.wrapper import AnswerWrapper
from harness.sandbox import Plan, RemoteObject

AGREEMENT_TOLERANCE = {"float64": 1e-9, "float32": 1e-4}
"""Largest relative difference, by dtype, of two runs that do the same sums in another order."""
LOSSY_TOLERANCE = AGREEMENT_TOLERANCE | {"float64": 1e-7}
"""Tolerance for an answer that also loses digits, if its error is far larger than that."""
OTHER_DRAWS = range(2_000_000, 2_000_004)
"""Further draws on which answers without floats must agree, because integers may agree by chance."""
APART = 1e3
"""Least ratio of two distances from the mutant: the reference's to the answer's."""
NEAR = (0.99, 1.01)
"""Factors for a number of a known fault; if the fault also matches with one of them, the answer's own number is
unknown."""
SILENT = object()
"""Marker of an answer that returned nothing."""
MOST_ALIKE = 3
"""Most faults that a diagnosis names."""
ROUNDING = 1e-6
"""A nearer agreement than this is no better: the fault named agrees on most other cases that the answer fails."""


def drop_refuted(code: ChallengeCode, evidence: Iterable[Evidence], answer: Answer) -> list[Evidence]:
    """Drop each diagnosis whose fault fails a fixed case of a criterion that the answer passed."""
    items = list(evidence)
    passed = [e for e in items if e.outcome is Outcome.PASSED and e.seed is not None]
    known = {mutant.name: mutant for mutant in code.mutants}
    refuted = cache(lambda name: any(_fails(code, answer, known[name], e) for e in passed))

    def settle(e: Evidence) -> Evidence:
        named = e.diagnosis.mutant if e.diagnosis and e.diagnosis.established == "agreement" else None
        return e.model_copy(update={"diagnosis": None}) if named and refuted(named) else e

    return [settle(e) for e in items]


def _fails(code: ChallengeCode, answer: Answer, mutant: Mutant, passed: Evidence) -> bool:
    assert passed.seed is not None
    for probe in code.probes_of(code.challenge.criterion(passed.criterion)):
        for case in probe.cases if probe.traced else ():
            try:
                once(probe, _make_local(code, answer, mutant), passed.seed, case)
            except ProbeFailure:
                return True
            except HarnessError:
                raise
            except Exception:  # a mutant may return what the probe's own arithmetic cannot digest
                continue
    return False


class Counts(frozenset[tuple[str, int]]):
    """Calls of served functions, by name."""


class TracedAnswer(AnswerWrapper):
    """A wrapper that notes every call.

    Attributes:
        notes: results with counts of served functions, and titles of failures, in order.
    """

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.notes: list[Any] = []
        self.timed_out = False

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        """See `Answer.call`."""
        try:
            value = super().call(function, *args, returns=returns, **options)
        except ProbeFailure as failure:
            self.timed_out = isinstance(failure, CallTimedOut)
            self.note(failure.title)
            raise
        self.note((value, self.echo, Counts((name, use.calls) for name, use in self.served.items())))
        return value

    def fetch(self, kept: RemoteObject, returns: Plan) -> Any:
        """See `Answer.fetch`."""
        value = super().fetch(kept, returns)
        self.note(value)
        return value

    def note(self, value: Any) -> None:
        """Note a copy, which the probe cannot change."""
        self.notes.append(copy.deepcopy(value))


class Settled(Exception):
    """The comparison is decided."""


class ComparedAnswer(TracedAnswer):
    """A known fault that runs while it matches the notes `seen`."""

    def __init__(self, answer: Answer, seen: Sequence[Any], tolerance: Mapping[str, float]) -> None:
        super().__init__(answer)
        self._seen, self._tolerance = seen, tolerance

    def note(self, value: Any) -> None:
        """Note a copy; raise `Settled` if the fault differs, or matches to the end."""
        place = len(self.notes)
        super().note(value)
        if place + 1 >= len(self._seen) or _measure_farthest(self._seen[place], value, self._tolerance) is None:
            raise Settled


def diagnose(code: ChallengeCode, probe: Probe, outcome: ProbeResult, answer: Answer, seed: int) -> Diagnosis | None:
    """Return the likeliest fault of an answer that failed `probe`, or None.

    A mutant matches if its arrays on the failing case equal the answer's, up to the failure, and the reference's
    differ. If no array differs, the counts of served calls decide.
    """
    if outcome.case is None or outcome.broken or not probe.traced or not code.language.runs_in_process:
        return None
    cases = [outcome.case]
    if outcome.counterexample is not None:
        small = outcome.counterexample.case
        # a drawn case may be large, and every known fault would run it
        larger = [outcome.case] if small != dict(outcome.case) and probe.drawn is None else []
        cases = [small, *larger]
    fits = Fit(code, probe, cases, outcome.counterexample, answer, seed)
    likeliest = _sort_likeliest_first(code.mutants, probe, code)
    gaps = [(gap, mutant) for mutant in likeliest if (gap := fits.gap(mutant)) is not None]
    if not gaps:
        return None
    nearest = max(ROUNDING, min(gap for gap, _ in gaps))
    tied = [(gap, mutant) for gap, mutant in gaps if gap <= nearest and not fits.refutes(mutant)]
    if not tied:
        return None
    likeness = [fits.likeness(mutant) for _, mutant in tied] if len(tied) > 1 else [(True, 0)]
    alike = [one for one, how in zip(tied, likeness, strict=True) if how == max(likeness)]
    return fits.make_diagnosis([mutant for _, mutant in alike[:MOST_ALIKE]], alike[0][0])


class Fit:
    """Comparison of an answer with known faults on its failed cases."""

    def __init__(
        self,
        code: ChallengeCode,
        probe: Probe,
        cases: Sequence[Case],
        seen: Counterexample | None,
        answer: Answer,
        seed: int,
    ) -> None:
        self._code, self._probe, self._cases, self._answer, self._seed = code, probe, cases, answer, seed
        lossy = _compute_relative_error(seen) > APART * LOSSY_TOLERANCE["float64"]
        self._tolerance = LOSSY_TOLERANCE if lossy else AGREEMENT_TOLERANCE
        runs = [TracedAnswer(answer) for _ in cases]
        self._theirs = [_collect_notes(probe, run, seed, case) for run, case in zip(runs, cases, strict=True)]
        if not any(run.timed_out for run in runs) and not any(map(_is_floating, _iter_leaves(self._theirs))):
            further = [{**cases[0], DRAW: draw} for draw in OTHER_DRAWS]
            self._cases = [*cases, *further]
            self._theirs += [trace(probe, answer, seed, case) for case in further]
        self._right = [trace(probe, _make_local(code, answer), seed, case) for case in self._cases]

    def gap(self, mutant: Mutant) -> float | None:
        """Return the distance to a known fault, or None if it is far or the reference near."""
        known = (self._run_mutant(mutant, case, seen) for case, seen in zip(self._cases, self._theirs, strict=True))
        return _measure_agreement(self._theirs, known, self._right, self._tolerance)

    def make_diagnosis(self, mutants: Sequence[Mutant], gap: float) -> Diagnosis:
        """Return the diagnosis of faults that match alike, the likeliest first."""
        names, known = (
            " and ".join(f"`{mutant.name}`" for mutant in mutants),
            ", or ".join(map(self._describe, mutants)),
        )
        if all(notes and isinstance(notes[-1], str) for notes in self._theirs):  # no result sets them apart
            words = f"fails in the same call as {names}, a known fault: one that {known}"
        else:
            how = "to the last bit" if gap == 0 else f"to {gap:.0e}"
            words = f"agrees with {names} {how} on the same inputs: the answer {known}"
        return Diagnosis(words=words, established="agreement", mutant=mutants[0].name)

    def _describe(self, mutant: Mutant) -> str:
        """Return what a fault does, with vague numbers where nearby ones match too."""
        unknown = {
            number
            for number in mutant.chosen_numbers
            if any(self.gap(mutant.with_number_near(number, factor)) is not None for factor in NEAR)
        }
        return NUMBER.sub(lambda m: f"a number such as {m[0]}" if m[0] in unknown else m[0], mutant.fault)

    def likeness(self, mutant: Mutant) -> tuple[bool, int]:
        """Return whether the served calls match, and `agreeing`."""
        notes = map(self._run_mutant, [mutant] * len(self._cases), self._cases, self._theirs)
        return list(map(_collect_counts, notes)) == list(map(_collect_counts, self._theirs)), self.agreeing(mutant)

    def agreeing(self, mutant: Mutant) -> int:
        """Count the other failed cases that a known fault matches."""
        return sum(fit.gap(mutant) is not None for fit in self._further)

    def refutes(self, mutant: Mutant) -> bool:
        """Return whether a fault fails a fixed case that the answer passes."""
        known = _make_local(self._code, self._answer, mutant)
        return any(_case_fails(probe, known, self._seed, case) for probe, case in self._passed)

    @cached_property
    def _passed(self) -> list[tuple[Probe, Case]]:
        fed = [c for c in self._code.challenge.criteria if self._probe.name in c.probes]
        beside = {probe.name: probe for c in fed for probe in self._code.probes_of(c) if probe.traced}
        cases = [(probe, case) for probe in beside.values() for case in probe.cases]
        return [(probe, case) for probe, case in cases if _case_fails(probe, self._answer, self._seed, case) is False]

    @cached_property
    def _further(self) -> list["Fit"]:
        known = [dict(case) for case in self._cases]
        return [
            Fit(self._code, self._probe, [case], None, self._answer, self._seed)
            for case in self._probe.cases
            if dict(case) not in known and _case_fails(self._probe, self._answer, self._seed, case)
        ]

    def _run_mutant(self, mutant: Mutant, case: Case, seen: Sequence[Any]) -> list[Any]:
        local = ComparedAnswer(_make_local(self._code, self._answer, mutant), seen, self._tolerance)
        with contextlib.suppress(Settled):
            return _collect_notes(self._probe, local, self._seed, case)
        return local.notes


def _case_fails(probe: Probe, answer: Answer, seed: int, case: Case) -> bool | None:
    """Return None for a case that cannot run, False for a spared one."""
    with contextlib.suppress(Spared):
        try:
            once(probe, answer, seed, case)
        except NotRun:
            return None
        except (ProbeFailure, ArithmeticError, IndexError, TypeError, ValueError):
            return True  # a known fault may return what the probe's own arithmetic cannot digest
    return False


def trace(probe: Probe, answer: Answer, seed: int, case: Case) -> list[Any]:
    """Return the notes of one case."""
    return _collect_notes(probe, TracedAnswer(answer), seed, case)


def _collect_notes(probe: Probe, around: TracedAnswer, seed: int, case: Case) -> list[Any]:
    try:
        with contextlib.suppress(ProbeFailure):
            once(probe, around, seed, case)
    except (HarnessError, Settled):
        raise
    except Exception:  # a mutant may return what the probe's own arithmetic cannot digest
        return []
    return around.notes


def trace_calls(probe: Probe, answer: Answer, seed: int, case: Case) -> TracedAnswer:
    """Run one case, and return the wrapper with its notes."""
    around = TracedAnswer(answer)
    with contextlib.suppress(ProbeFailure):
        once(probe, around, seed, case)
    return around


def agrees(probe: Probe, answer: Answer, seed: int, case: Case, seen: Sequence[Any]) -> bool:
    """Return whether the notes on one case match `seen`."""
    around = ComparedAnswer(answer, seen, AGREEMENT_TOLERANCE)
    with contextlib.suppress(Settled):
        _collect_notes(probe, around, seed, case)
    return _measure_farthest(seen, around.notes, AGREEMENT_TOLERANCE) is not None


def _make_local(code: ChallengeCode, answer: Answer, mutant: Mutant | None = None) -> LocalAnswer:
    local = LocalAnswer(code.import_source(mutant))
    local.capabilities = answer.capabilities  # they set up probes
    return local


def _compute_relative_error(seen: Counterexample | None) -> float:
    expected, got = (seen.expected, seen.got) if seen else (None, None)
    if not isinstance(expected, float) or not isinstance(got, float) or not (math.isfinite(expected + got)):
        return 0.0
    return abs(got - expected) / (max(abs(got), abs(expected)) or 1.0)


def _measure_agreement(
    theirs: list[list[Any]], mutants: Iterable[list[Any]], right: list[list[Any]], tolerance: Mapping[str, float]
) -> float | None:
    # call counts, a matter of design, decide only if results do not; the number of notes never decides
    worst, apart, alike, counted = 0.0, 0.0, True, False
    for seen, notes, reference in zip(theirs, mutants, right, strict=True):
        if (gap := distance(seen, notes[: len(seen)], tolerance)) is None:
            return None
        worst = max(worst, gap)
        alike = alike and _collect_counts(seen) == _collect_counts(notes)
        reference, notes = reference[: len(seen)], notes[: len(reference)]
        apart = max(apart, np.inf if (other := _measure_farthest(reference, notes, tolerance)) is None else other)
        counted = counted or _collect_counts(reference) != _collect_counts(notes)
    # the reference must be far from the mutant, or make other calls where the answer makes the same
    return worst if apart > max(APART * worst, 1e-6) or (alike and counted) else None


def distance(one: list[Any], other: list[Any], tolerance: Mapping[str, float] = AGREEMENT_TOLERANCE) -> float | None:
    """Return the largest relative difference of two traces.

    None if they differ by more than the tolerance or in kind, or if the last result stayed in the worker.
    """
    return (
        _measure_farthest(one, other, tolerance) if one and next(_iter_leaves(one[-1]), SILENT) is not SILENT else None
    )


def _measure_farthest(one: Any, other: Any, tolerance: Mapping[str, float]) -> float | None:
    gap = 0.0
    left, right = list(_iter_leaves(one)), list(_iter_leaves(other))
    if len(left) != len(right):
        return None
    for a, b in zip(left, right, strict=True):
        if isinstance(a, float) and isinstance(b, float):
            a, b = np.asarray(a), np.asarray(b)
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            step = _measure_gap(a, b, tolerance)
            if step is None:
                return None
            gap = max(gap, step)
        elif type(a) is not type(b) or a != b:
            return None
    return gap


def _measure_gap(a: Any, b: Any, tolerance: Mapping[str, float]) -> float | None:
    if a.shape != b.shape or a.dtype != b.dtype:
        return None
    if a.dtype.kind != "f":
        return 0.0 if np.array_equal(a, b) else None
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return None
    if not finite.any():
        return 0.0
    x, y = a[finite].astype(np.float64), b[finite].astype(np.float64)
    most = max(float(np.abs(x).max()), float(np.abs(y).max())) or 1.0  # else squares may overflow
    x, y = x / most, y / most
    size = float(np.sqrt(max(np.mean(x * x), np.mean(y * y))))
    gap = float(np.abs(x - y).max()) / (size or 1.0)
    return gap if gap <= tolerance.get(a.dtype.name, 0.0) else None


def _iter_leaves(notes: Any) -> Iterator[Any]:
    if isinstance(notes, (list, tuple)):
        for item in notes:
            yield from _iter_leaves(item)
    elif isinstance(notes, dict):
        for key in notes:
            yield from _iter_leaves(notes[key])
    elif notes is not None and not isinstance(notes, (RemoteObject, Counts)):
        yield notes


def _collect_counts(notes: Sequence[Any]) -> list[Counts]:
    return [counts for note in notes if isinstance(note, tuple) for counts in note[-1:] if isinstance(counts, Counts)]


def _is_floating(leaf: Any) -> bool:
    return isinstance(leaf, float) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f")


def _sort_likeliest_first(mutants: Iterable[Mutant], probe: Probe, code: ChallengeCode) -> list[Mutant]:
    fed = {c.id for c in code.challenge.criteria if probe.name in c.probes}
    return sorted(mutants, key=lambda mutant: mutant.criterion not in fed)
