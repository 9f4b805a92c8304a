"""Which mutants of an answer its own tests are run on, and which of them count.

A mutant counts where it changes what calls through the contract bring that are right without it. Of those that the
tests noticed a few are called, and all where one of these changes nothing: so faults in code that only the tests run
earn nothing either.
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
"""Noticed mutants that are called through the contract."""
Lines = Mapping[str, AbstractSet[int]]
"""Line numbers by path."""
Tried = tuple[SourceMutant, RunResult]
"""A mutant and what the tests made of it."""


def plan_runs(
    mutants: Sequence[SourceMutant], files: Sequence[SourceFile], count: int
) -> tuple[list[SourceMutant], list[Run]]:
    """The first `count` mutants that are code, and the runs: equivalent code, each mutant, equivalent code again.

    All code is written in the same way, so that its form does not tell one run from another.
    """
    by_path = {file.path: file for file in files}
    same = {path: equivalent(by_path[path]) for path in sorted({mutant.path for mutant in mutants})}
    faulty = ((m, replace(by_path[m.path], text=m.planted(by_path[m.path].text))) for m in mutants)
    drawn = list(itertools.islice(((mutant, file) for mutant, file in faulty if file.tree is not None), count))
    plain = Run(tuple(same.items()), quick=True)
    runs = [Run(tuple((same | {file.path: equivalent(file)}).items()), quick=True) for _, file in drawn]
    return [mutant for mutant, _ in drawn], [replace(plain, must_pass=True), *runs, plain]


def joined(first: Runs, second: Runs) -> Runs:
    """What two halves of a plan show together: the runs but for the ends that meet, which count where they fail."""
    broken = first.broken or second.broken
    for half in (first, second):
        if half.results and not half.results[0].silent:
            return Runs(half.results[:1], broken=broken)
    fails = any(not run.silent for run in first.results[-1:])
    last = first.results[-1:] if fails else second.results[-1:]
    return Runs(first.results[:-1] + second.results[1:-1] + last, broken=broken)


def effective(tried: Sequence[Tried], files: Sequence[SourceFile], contract: ContractCalls) -> list[Tried]:
    """Leave out the mutants that change nothing that right calls through the contract bring.

    Args:
        tried: mutants, with the runs of the tests on them.
        files: of the answer, as they are.
        contract: calls the answer, and copies of it.
    """
    texts = {file.path: file.text for file in files}

    @cache
    def acts(mutant: SourceMutant) -> bool:
        return contract.shows(((mutant.path, mutant.planted(texts[mutant.path])),))

    noticed = [mutant for mutant, result in tried if not result.silent]
    credible = all(map(acts, noticed[:SPOT_CHECKED]))
    return [(mutant, result) for mutant, result in tried if (credible and not result.silent) or acts(mutant)]


def both(executed: Lines, called: Lines | None) -> Lines:
    """The lines that the tests execute and calls through the contract do as well, where those are known."""
    if called is None:
        return executed
    return {path: lines & called.get(path, frozenset()) for path, lines in executed.items()}


def every_line(files: Sequence[SourceFile]) -> dict[str, frozenset[int]]:
    """All lines of files: where it is not known which of them the tests execute."""
    return {file.path: frozenset(range(1, file.text.count("\n") + 2)) for file in files}


def exercised(files: Sequence[SourceFile], lines: Lines | None, called: Lines | None = None) -> float | None:
    """Of the lines that a mutant could be planted on, the share that the tests execute; None when unknown."""
    mutable = both({file.path: mutable_lines(file) for file in files}, called)
    total = sum(map(len, mutable.values()))
    if lines is None or total == 0:
        return None
    return sum(len(places & lines.get(path, frozenset())) for path, places in mutable.items()) / total
