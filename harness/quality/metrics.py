"""Six figures about a submission's source, each with credit (`CURVES`) and the worst place.

* `largest_file`: code lines of the largest file
* `complexity`: % of code lines in functions of cyclomatic complexity over 10
* `function_length`: 90th percentile, in code lines; those of a nested function are its own
* `lint`: likely faults (`tools.RULES`) per 100 code lines
* `documentation`: mean of the % of public names documented and the % of their parameters annotated
* `duplication`: % of code lines that repeat earlier ones

Code lines exclude blank lines, comments, docstrings and inner lines of other strings, so that documenting and splitting
code costs nothing. Tests (`contract_code`) and unimported files (`sources`) do not count. The maintainability index is
unsuitable: removing docstrings drives it to 1, size drives sound libraries to 0.
"""

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.languages import DocumentedName, NamedLine
from harness.model import Location
from harness.quality import tools
from harness.quality.contract_code import contract_code
from harness.quality.sources import SourceFile, read_sources
from harness.quality.tools import FunctionMetrics, LintFinding

COMPLEX = 10
"""Highest cyclomatic complexity that does not count as complex."""
WINDOW = 6
"""Minimum number of consecutive code lines that make a repetition."""
FLAT = "(whole file)"
"""Name for the code of a file if no file has functions."""


Curve = tuple[tuple[float, float], ...]
CURVES: Mapping[str, Curve] = {
    "largest_file": ((300, 1.0), (800, 0.7), (1700, 0.4), (4000, 0.0)),
    "complexity": ((0, 1.0), (15, 0.7), (40, 0.4), (80, 0.0)),
    "function_length": ((25, 1.0), (50, 0.7), (100, 0.4), (250, 0.0)),
    "lint": ((0, 1.0), (0.5, 0.7), (2, 0.4), (8, 0.0)),
    "documentation": ((0, 0.0), (20, 0.4), (50, 0.7), (80, 1.0)),
    "duplication": ((2, 1.0), (8, 0.7), (20, 0.4), (50, 0.0)),
}


@dataclass(frozen=True)
class Metric:
    """One figure about the source.

    Attributes:
        name: key of `CURVES`.
        figure: None if not measurable.
        credit: 0 to 1; None if the figure does not apply to the language.
        worst: worst place in words.
    """

    name: str
    figure: float | None
    credit: float | None
    detail: str
    worst: str = ""
    locations: tuple[Location, ...] = ()


@dataclass(frozen=True)
class SourceReport:
    """All six figures and their base.

    Attributes:
        files: number of source files, without tests.
        sloc: code lines of these files.
        problems: files that cannot be analysed fully, with the reason.
        unused: files that are never imported.
        for_tests: files that only tests or the test command use.
        lines_left_out: code lines that only these use, by file.
    """

    metrics: Mapping[str, Metric]
    files: int
    sloc: int
    problems: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    for_tests: tuple[str, ...] = ()
    lines_left_out: Mapping[str, int] = field(default_factory=dict)


def measure(
    folder: Path, entries: Collection[str] = (), adapters: Collection[str] = (), command: Collection[str] = (),
    programs: Collection[str] = (), functions: Collection[str] = (),
) -> SourceReport:  # fmt: skip
    """Measure the source below `folder`; see `read_sources`.

    Args:
        functions: functions of the contract; without them, tests inside source files count.

    Raises:
        PrerequisiteError: ruff is not installed.
    """
    sources = read_sources(folder, entries, (), command, (*programs, *adapters))
    part = contract_code(sources, functions, adapters)
    files = part.files
    problems = tuple(f"{file.path} {file.problem}" for file in files if file.problem)
    if not any(file.sloc for file in files):
        metrics = [Metric(name, None, 0.0, "there is no source code to measure") for name in CURVES]
    elif foreign := [(file.path, *found) for file in files if (found := file.syntax.foreign_line(file.text))]:
        path, line, why = foreign[0]
        detail = f"{path} is not all source code: in line {line}, {why}"
        metrics = [Metric(name, None, None, detail, locations=Location.within(path, line)) for name in CURVES]
    else:
        seen = tools.inspect(files)
        whole_files = (FunctionMetrics(file.path, FLAT, 1, file.sloc, 1) for file in files if file.sloc)
        pieces = None if seen.functions is None else seen.functions or tuple(whole_files)
        metrics = [
            _measure_largest_file(files),
            _make_failure("complexity", "lizard") if pieces is None else _measure_complexity(files, pieces),
            _make_failure("function_length", "lizard") if pieces is None else _measure_function_length(pieces),
            _make_failure("lint", "ruff") if seen.remarks is None else _measure_lint(files, seen.remarks),
            _measure_documentation(files, seen.functions or ()),
            _measure_duplication(files),
        ]
    if part.lines_left_out:
        lines = ", ".join(f"{_count(lines, 'code line')} of {path}" for path, lines in part.lines_left_out.items())
        left_out = f"; not counted, for only tests or the test command lead there: {lines}"
        metrics = [replace(metric, detail=metric.detail + left_out) for metric in metrics]
    return SourceReport(
        {metric.name: metric for metric in metrics}, len(files), _count_sloc(files), problems, tools.versions(),
        tuple(file.path for file in sources if file.unused and not file.test), part.files_left_out, part.lines_left_out,
    )  # fmt: skip


def credit(name: str, figure: float) -> float:
    """Return the credit of `figure`, linear between points of its curve and constant beyond."""
    curve = CURVES[name]
    if figure <= curve[0][0]:
        return curve[0][1]
    for (left, high), (right, low) in itertools.pairwise(curve):
        if figure <= right:
            way = (figure - left) / (right - left)
            return (1 - way) * high + way * low
    return curve[-1][1]


def _make_metric(name: str, figure: float, detail: str, places: tuple[Location, ...] = (), worst: str = "") -> Metric:
    words = worst or ", ".join(map(str, places))
    return Metric(name, figure, credit(name, figure), detail, words, places)


def _make_failure(name: str, tool: str) -> Metric:
    return Metric(name, None, 0.0, f"{tool} could not read the source")


def _count_sloc(files: Iterable[SourceFile]) -> int:
    return sum(file.sloc for file in files)


def _measure_largest_file(files: Sequence[SourceFile]) -> Metric:
    largest = max(files, key=lambda file: file.sloc)
    detail = f"{largest.sloc} code lines in the largest of {_count(len(files), 'file')}, {_count_sloc(files)} in all"
    return _make_metric("largest_file", largest.sloc, detail, Location.within(largest.path))


def _measure_complexity(files: Sequence[SourceFile], functions: Sequence[FunctionMetrics]) -> Metric:
    complex_ones = [function for function in functions if function.complexity > COMPLEX]
    lines = sum(function.length for function in complex_ones)
    share = min(100.0, 100 * lines / _count_sloc(files))
    worst = max(functions, key=lambda function: function.complexity)
    detail = (
        f"{share:.1f} % of the code lines are in {_count(len(complex_ones), 'function')} of complexity over {COMPLEX}; "
        f"the highest is {worst.complexity}"
    )
    return _make_metric("complexity", share, detail, _locate(worst))


def _measure_function_length(functions: Sequence[FunctionMetrics]) -> Metric:
    ordered = sorted(functions, key=lambda function: function.length)
    tenth_longest = ordered[math.ceil(0.9 * len(ordered)) - 1]
    longest = ordered[-1]
    flat = longest.name == FLAT
    pieces = _count(len(ordered), "file") + " without a function" if flat else _count(len(ordered), "function")
    detail = f"the longest of {pieces} has {_count(longest.length, 'code line')}"
    if tenth_longest.length < longest.length:
        detail += f"; nine in ten have at most {tenth_longest.length}"
    return _make_metric("function_length", tenth_longest.length, detail, _locate(longest))


def _measure_lint(files: Sequence[SourceFile], remarks: Sequence[LintFinding]) -> Metric:
    python = [file for file in files if file.syntax.linted]
    if not python:
        return Metric("lint", None, None, "no Python source: judged by the compiler's warnings instead")
    figure = 100 * len(remarks) / max(1, _count_sloc(python))
    rules = Counter(remark.rule for remark in remarks).most_common(5)
    named = ", ".join(f"{rule} x{times}" if times > 1 else rule for rule, times in rules)
    detail = (
        f"{_count(len(remarks), 'likely fault')} in {_count_sloc(python)} code lines{f': {named}' if named else ''}"
    )
    # undefined names come before merely likely faults
    first = min(remarks, key=lambda remark: (not remark.rule.startswith("F"), remark.path, remark.line), default=None)
    if first is None:
        return _make_metric("lint", figure, detail)
    words = f"{first.path}:{first.line} {first.rule} {first.text}"
    return _make_metric("lint", figure, detail, Location.within(first.path, first.line), words)


def _measure_documentation(files: Sequence[SourceFile], functions: Sequence[FunctionMetrics]) -> Metric:
    named = list(_find_public_names(files, functions))
    parameters = [(place, has) for place, name in named for has in name.annotated]
    shares = [100 * sum(name.documented for _, name in named) / max(1, len(named))]
    detail = f"{sum(name.documented for _, name in named)} of {_count(len(named), 'public name')} documented"
    if parameters:
        annotated = sum(has for _, has in parameters)
        shares.append(100 * annotated / len(parameters))
        detail += f", {annotated} of {_count(len(parameters), 'parameter')} of theirs annotated"
    return _make_metric("documentation", sum(shares) / len(shares), detail, *_find_worst_documentation(named))


def _find_worst_documentation(
    named: Sequence[tuple[tuple[Location, ...], DocumentedName]],
) -> tuple[tuple[Location, ...], str]:
    """Return the name whose lacks cost the metric most, and a sentence on it."""
    parameters = sum(len(name.annotated) for _, name in named)

    def cost(each: tuple[tuple[Location, ...], DocumentedName]) -> float:
        return (not each[1].documented) / len(named) + each[1].annotated.count(False) / max(parameters, 1)

    place, name = max(named, key=cost, default=((), None))
    if name is None or not cost((place, name)):
        return (), ""
    bare = name.annotated.count(False)
    lacks = [] if name.documented else ["documentation"]
    lacks += [_count(bare, "annotation")] if bare else []
    alike = sum((n.documented, n.annotated.count(False)) == (name.documented, bare) for _, n in named) - 1
    words = f"{', '.join(map(str, place))} lacks {' and '.join(lacks)}"
    return place, words + (f"; {alike} more lack{'s' * (alike == 1)} the same" if alike else "")


def _find_public_names(
    files: Sequence[SourceFile], functions: Iterable[FunctionMetrics]
) -> Iterator[tuple[tuple[Location, ...], DocumentedName]]:
    within: dict[str, list[NamedLine]] = {}
    for function in functions:
        within.setdefault(function.path, []).append(NamedLine(function.line, function.name))
    for file in files:
        if file.sloc:
            for name in file.syntax.public_names(file.text, file.tree, within.get(file.path, ())):
                yield Location.within(file.path, name.line, name.name), name


def _measure_duplication(files: Sequence[SourceFile]) -> Metric:
    first_seen: dict[tuple[str, ...], tuple[int, int]] = {}
    repeated: set[tuple[int, int]] = set()
    runs: dict[tuple[int, int], tuple[int, tuple[int, int]]] = {}  # by place: consecutive windows, origin
    codes = [file.code_beyond_imports for file in files]
    for number, code in enumerate(codes):
        for start in range(len(code) - WINDOW + 1):
            window = tuple(line.text for line in code[start : start + WINDOW])
            origin = first_seen.setdefault(window, (number, start))
            if origin == (number, start) or (origin[0] == number and start - origin[1] < WINDOW):
                continue
            repeated.update((number, index) for index in range(start, start + WINDOW))
            before, earlier = runs.get((number, start - 1), (0, origin))
            runs[number, start] = (before + 1 if earlier == (origin[0], origin[1] - 1) else 1, origin)
    worst: tuple[Location, ...] = ()
    if runs:
        (number, end), (length, (other, last)) = max(runs.items(), key=lambda run: run[1][0])
        # the first windows of a run may have been attributed to another place that they repeat as well
        later, first = codes[number], codes[other]
        while length <= min(end, last) and later[end - length].text == first[last - length].text:
            length += 1
        worst = tuple(
            place
            for file, at in ((number, end), (other, last))
            for place in Location.within(files[file].path, codes[file][at - length + 1].number)
        )
    share = 100 * len(repeated) / _count_sloc(files)
    detail = (
        f"{_count(len(repeated), 'code line')} of {_count_sloc(files)} repeat earlier ones, {WINDOW} or more in a row"
    )
    return _make_metric("duplication", share, detail, worst, " repeats ".join(map(str, worst)))


def _locate(function: FunctionMetrics) -> tuple[Location, ...]:
    return Location.within(function.path, function.line, function.name)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
