"""Selection of the mutants to run tests on, and of those that count.

A mutant counts if it changes a right result of a call through the contract. This is verified for survivors and a few
killed mutants, and for all if one of these has no effect, so that faults in code that only tests run earn nothing.
"""

import itertools
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cache

from harness.quality.ast_mutants import SourceMutant, equivalent, mutable_lines
from harness.quality.boxed_suite import Run, RunResult, Runs
from harness.quality.contract_calls import ContractCalls
from harness.quality.sources import SourceFile

SPOT_CHECKED = 4
"""Killed mutants to verify by calls through the contract."""
Lines = Mapping[str, AbstractSet[int]]
"""Line numbers by path."""
Tried = tuple[SourceMutant, RunResult]
"""A mutant and its test run."""


def plan_runs(
    mutants: Sequence[SourceMutant], files: Sequence[SourceFile], count: int
) -> tuple[list[SourceMutant], list[Run]]:
    """Return the first `count` mutants that parse, and their runs between two on equivalent code.

    All code is unparsed, so that its form does not give a mutant away.
    """
    by_path = {file.path: file for file in files}
    same = {path: equivalent(by_path[path]) for path in sorted({mutant.path for mutant in mutants})}
    faulty = ((m, replace(by_path[m.path], text=m.plant_in(by_path[m.path].text))) for m in mutants)
    drawn = list(itertools.islice(((mutant, file) for mutant, file in faulty if file.tree is not None), count))
    plain = Run(tuple(same.items()), quick=True)
    runs = [Run(tuple((same | {file.path: equivalent(file)}).items()), quick=True) for _, file in drawn]
    return [mutant for mutant, _ in drawn], [replace(plain, must_pass=True), *runs, plain]


def join_halves(first: Runs, second: Runs) -> Runs:
    """Join two halves of a plan; at shared runs, failures win."""
    broken = first.broken or second.broken
    for half in (first, second):
        if half.results and not half.results[0].silent:
            return Runs(half.results[:1], broken=broken)
    fails = any(not run.silent for run in first.results[-1:])
    last = first.results[-1:] if fails else second.results[-1:]
    return Runs(first.results[:-1] + second.results[1:-1] + last, broken=broken)


def effective(tried: Sequence[Tried], files: Sequence[SourceFile], contract: ContractCalls) -> list[Tried]:
    """Return the mutants that count."""
    texts = {file.path: file.text for file in files}

    @cache
    def acts(mutant: SourceMutant) -> bool:
        return contract.shows(((mutant.path, mutant.plant_in(texts[mutant.path])),))

    noticed = [mutant for mutant, result in tried if not result.silent]
    credible = all(map(acts, noticed[:SPOT_CHECKED]))
    return [(mutant, result) for mutant, result in tried if (credible and not result.silent) or acts(mutant)]


def both(executed: Lines, called: Lines | None) -> Lines:
    """Return the lines in both; all of `executed` if `called` is None."""
    if called is None:
        return executed
    return {path: lines & called.get(path, frozenset()) for path, lines in executed.items()}


def every_line(files: Sequence[SourceFile]) -> dict[str, frozenset[int]]:
    """Return all lines of `files`."""
    return {file.path: frozenset(range(1, file.text.count("\n") + 2)) for file in files}


def measure_coverage(files: Sequence[SourceFile], lines: Lines | None, called: Lines | None = None) -> float | None:
    """Return the executed share of the mutable lines; None if unknown."""
    mutable = both({file.path: mutable_lines(file, by_name=called is None) for file in files}, called)
    total = sum(map(len, mutable.values()))
    if lines is None or total == 0:
        return None
    return sum(len(places & lines.get(path, frozenset())) for path, places in mutable.items()) / total
