"""Six figures about the source of an answer, each with the credit it earns and the place that is worst.

| figure | 1.0 | 0.7 | 0.4 | 0.0 |
|---|--:|--:|--:|--:|
| code lines of the largest file | 300 | 800 | 1700 | 4000 |
| % of code lines in functions of cyclomatic complexity over 10 | 0 | 15 | 40 | 80 |
| function length, 90th percentile, code lines | 25 | 50 | 100 | 250 |
| likely faults (rules of ruff, `tools.RULES`) per 100 code lines | 0 | 0.5 | 2 | 8 |
| % of public names documented, of their parameters annotated | 80 | 50 | 20 | 0 |
| % of code lines that repeat earlier ones | 2 | 8 | 20 | 50 |

Between the columns credit is linear. Code lines leave out blank lines, comments, docstrings and inner lines of other
texts, so that neither documenting nor dividing code is punished. Left out are tests (`contract_code`), and files
that nothing imports (`sources`). The maintainability index is not used: removing docstrings drives it to 1, and large
sound libraries to 0.
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
"""A function of higher cyclomatic complexity is counted as complex."""
WINDOW = 6
"""So many code lines in a row make a repetition."""
FLAT = "(whole file)"
"""Stands for the code of a file where no file has a function."""


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
        figure: as measured; None where it cannot be.
        credit: 0 to 1; None where the figure does not apply to the language.
        detail: the figure in words.
        worst: the worst place in words, empty when nothing is wrong.
        locations: the places that `worst` names.
    """

    name: str
    figure: float | None
    credit: float | None
    detail: str
    worst: str = ""
    locations: tuple[Location, ...] = ()


@dataclass(frozen=True)
class SourceReport:
    """All six figures, and what they were taken over.

    Attributes:
        metrics: by name, in the order of `CURVES`.
        files: source files, tests left out.
        sloc: their code lines.
        problems: files that could not be analysed fully, each with the reason.
        versions: of ruff and lizard.
        unused: source files that nothing imports: no figure counts them.
        for_tests: source files that only tests or the test command lead to: no figure counts them.
        lines_left_out: code lines of the other files that only these lead to, by file: no figure counts them.
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
    """The six figures for the source under `folder`.

    Args:
        folder: a submission or the snapshot of one.
        entries: files of the submission's `entry`; they are source whatever they are called.
        adapters: files that are the harness's own: no line of them counts.
        command: words of its test command.
        programs: further files of it that are run by themselves.
        functions: those of the contract; without any, tests within a file count.

    Raises:
        PrerequisiteError: ruff is not installed beside the harness.
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
        pieces = None if seen.functions is None else _or_whole_files(files, seen.functions)
        metrics = [
            _largest_file(files),
            _unanswered("complexity", "lizard") if pieces is None else _complexity(files, pieces),
            _unanswered("function_length", "lizard") if pieces is None else _function_length(pieces),
            _unanswered("lint", "ruff") if seen.remarks is None else _lint(files, seen.remarks),
            _documentation(files, seen.functions or ()),
            _duplication(files),
        ]
    if part.lines_left_out:
        lines = ", ".join(f"{_count(lines, 'code line')} of {path}" for path, lines in part.lines_left_out.items())
        left_out = f"; not counted, for only tests or the test command lead there: {lines}"
        metrics = [replace(metric, detail=metric.detail + left_out) for metric in metrics]
    return SourceReport(
        {metric.name: metric for metric in metrics}, len(files), _sloc(files), problems, tools.versions(),
        tuple(file.path for file in sources if file.unused and not file.test), part.files_left_out, part.lines_left_out,
    )  # fmt: skip


def credit(name: str, figure: float) -> float:
    """What `figure` earns on the curve of `name`, 0 to 1, linear between its points and flat beyond them."""
    curve = CURVES[name]
    if figure <= curve[0][0]:
        return curve[0][1]
    for (left, high), (right, low) in itertools.pairwise(curve):
        if figure <= right:
            way = (figure - left) / (right - left)
            return (1 - way) * high + way * low
    return curve[-1][1]


def _metric(name: str, figure: float, detail: str, places: tuple[Location, ...] = (), worst: str = "") -> Metric:
    words = worst or ", ".join(map(str, places))
    return Metric(name, figure, credit(name, figure), detail, words, places)


def _unanswered(name: str, tool: str) -> Metric:
    return Metric(name, None, 0.0, f"{tool} could not read the source")


def _sloc(files: Iterable[SourceFile]) -> int:
    return sum(file.sloc for file in files)


def _or_whole_files(files: Sequence[SourceFile], functions: tuple[FunctionMetrics, ...]) -> tuple[FunctionMetrics, ...]:
    """`functions`; of source that has none at all, each file that holds code as one piece."""
    return functions or tuple(FunctionMetrics(file.path, FLAT, 1, file.sloc, 1) for file in files if file.sloc)


def _largest_file(files: Sequence[SourceFile]) -> Metric:
    largest = max(files, key=lambda file: file.sloc)
    detail = f"{largest.sloc} code lines in the largest of {_count(len(files), 'file')}, {_sloc(files)} in all"
    return _metric("largest_file", largest.sloc, detail, Location.within(largest.path))


def _complexity(files: Sequence[SourceFile], functions: Sequence[FunctionMetrics]) -> Metric:
    complex_ones = [function for function in functions if function.complexity > COMPLEX]
    lines = sum(function.length for function in complex_ones)
    share = min(100.0, 100 * lines / _sloc(files))
    worst = max(functions, key=lambda function: function.complexity)
    detail = (
        f"{share:.1f} % of the code lines are in {_count(len(complex_ones), 'function')} of complexity over {COMPLEX}; "
        f"the highest is {worst.complexity}"
    )
    return _metric("complexity", share, detail, _place(worst))


def _function_length(functions: Sequence[FunctionMetrics]) -> Metric:
    ordered = sorted(functions, key=lambda function: function.length)
    tenth_longest = ordered[math.ceil(0.9 * len(ordered)) - 1]
    longest = ordered[-1]
    flat = longest.name == FLAT
    pieces = _count(len(ordered), "file") + " without a function" if flat else _count(len(ordered), "function")
    detail = f"the longest of {pieces} has {_count(longest.length, 'code line')}"
    if tenth_longest.length < longest.length:
        detail += f"; nine in ten have at most {tenth_longest.length}"
    return _metric("function_length", tenth_longest.length, detail, _place(longest))


def _lint(files: Sequence[SourceFile], remarks: Sequence[LintFinding]) -> Metric:
    python = [file for file in files if file.syntax.linted]
    if not python:
        return Metric("lint", None, None, "no Python source: judged by the compiler's warnings instead")
    figure = 100 * len(remarks) / max(1, _sloc(python))
    rules = Counter(remark.rule for remark in remarks).most_common(5)
    named = ", ".join(f"{rule} x{times}" if times > 1 else rule for rule, times in rules)
    detail = f"{_count(len(remarks), 'likely fault')} in {_sloc(python)} code lines{f': {named}' if named else ''}"
    # a name that is not defined, before what is only likely to be a fault
    first = min(remarks, key=lambda remark: (not remark.rule.startswith("F"), remark.path, remark.line), default=None)
    if first is None:
        return _metric("lint", figure, detail)
    words = f"{first.path}:{first.line} {first.rule} {first.text}"
    return _metric("lint", figure, detail, Location.within(first.path, first.line), words)


def _documentation(files: Sequence[SourceFile], functions: Sequence[FunctionMetrics]) -> Metric:
    named = list(_public_names(files, functions))
    parameters = [(place, has) for place, name in named for has in name.annotated]
    shares = [100 * sum(name.documented for _, name in named) / max(1, len(named))]
    detail = f"{sum(name.documented for _, name in named)} of {_count(len(named), 'public name')} documented"
    if parameters:
        annotated = sum(has for _, has in parameters)
        shares.append(100 * annotated / len(parameters))
        detail += f", {annotated} of {_count(len(parameters), 'parameter')} of theirs annotated"
    return _metric("documentation", sum(shares) / len(shares), detail, *_lacks_most(named))


def _lacks_most(named: Sequence[tuple[tuple[Location, ...], DocumentedName]]) -> tuple[tuple[Location, ...], str]:
    """The place that lacks most, a documentation or the annotation of a parameter counting one each, and in words."""
    place, name = max(named, key=lambda each: _lacks(each[1]), default=((), None))
    if name is None or not _lacks(name):
        return (), ""
    bare = name.annotated.count(False)
    lacks = [] if name.documented else ["documentation"]
    lacks += [_count(bare, "annotation")] if bare else []
    alike = sum((n.documented, n.annotated.count(False)) == (name.documented, bare) for _, n in named) - 1
    words = f"{', '.join(map(str, place))} lacks {' and '.join(lacks)}"
    return place, words + (f"; {alike} more lack{'s' * (alike == 1)} the same" if alike else "")


def _lacks(name: DocumentedName) -> int:
    return (not name.documented) + name.annotated.count(False)


def _public_names(
    files: Sequence[SourceFile], functions: Iterable[FunctionMetrics]
) -> Iterator[tuple[tuple[Location, ...], DocumentedName]]:
    """Place of everything that the files offer, and how it is documented."""
    within: dict[str, list[NamedLine]] = {}
    for function in functions:
        within.setdefault(function.path, []).append(NamedLine(function.line, function.name))
    for file in files:
        if file.sloc:
            for name in file.syntax.public_names(file.text, file.tree, within.get(file.path, ())):
                yield Location.within(file.path, name.line, name.name), name


def _duplication(files: Sequence[SourceFile]) -> Metric:
    first_seen: dict[tuple[str, ...], tuple[int, int]] = {}
    repeated: set[tuple[int, int]] = set()
    runs: dict[tuple[int, int], tuple[int, tuple[int, int]]] = {}  # by place: windows that repeat in a row, and what
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
        # the first windows of a run may repeat another place as well, and were taken for part of that
        later, first = codes[number], codes[other]
        while length <= min(end, last) and later[end - length].text == first[last - length].text:
            length += 1
        worst = tuple(
            place
            for file, at in ((number, end), (other, last))
            for place in Location.within(files[file].path, codes[file][at - length + 1].number)
        )
    share = 100 * len(repeated) / _sloc(files)
    detail = f"{_count(len(repeated), 'code line')} of {_sloc(files)} repeat earlier ones, {WINDOW} or more in a row"
    return _metric("duplication", share, detail, worst, " repeats ".join(map(str, worst)))


def _place(function: FunctionMetrics) -> tuple[Location, ...]:
    return Location.within(function.path, function.line, function.name)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
