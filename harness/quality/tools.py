"""Static analysis by ruff for Python and lizard for other languages, in separate processes on a copy.

The copy has one folder per file, which keeps the submission's own configuration out of reach.
"""

import ast
import contextlib
import json
import re
import resource
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any

from harness import interpreter
from harness.errors import JudgeError, PrerequisiteError
from harness.languages import FunctionSpan
from harness.quality.sources import SourceFile
from harness.sandbox.confinement import scratch

_RULES = "E9 F404 F407 F50 F52 F6 F70 F82 F901 PLE0 PLE1 B002 B003 B012 B015 B016 B029 B030 B035"
RULES = tuple(_RULES.split())
"""Rules whose every finding is a fault of its line: syntax errors, undefined names, mismatched formats, literals
compared by identity, useless comparisons, errors hidden by `finally`. Excluded are rules that correct code may break: a
closure called at once (B023), a default that is never changed (B006), a redefined name (F811)."""
HARMLESS = ("F504", "F522", "F523", "PLE1310")
"""Rules of these families without effect on results: unused format arguments, letters stripped twice."""
UNDEFINED = "F821"
SECONDS = 60
"""Processor time of a tool, in seconds, beyond which it yields no figures on any machine."""
WALL_SECONDS = 1200.0
"""Wall time of a tool, in seconds, beyond which the machine is at fault."""

_LIZARD = """
import json, lizard, sys
for path in sys.argv[1:]:
    for f in lizard.analyze_file(path).function_list:
        print(json.dumps([path, f.name, f.start_line, f.end_line, f.cyclomatic_complexity]))
"""

# words in comments that make lizard skip what follows
_EXCUSES = re.compile(r"lizard\s+forgive|GENERATED CODE", re.IGNORECASE)


@dataclass(frozen=True)
class LintFinding:
    """One finding of ruff; the rule is `invalid-syntax` for a syntax error."""

    path: str
    line: int
    rule: str
    text: str


@dataclass(frozen=True)
class FunctionMetrics:
    """Metrics of one function; in C++ its `name` has the enclosing names."""

    path: str
    name: str
    line: int
    length: int
    complexity: int


@dataclass(frozen=True)
class Inspection:
    """Results of ruff and lizard; None for a failed tool."""

    remarks: tuple[LintFinding, ...] | None
    functions: tuple[FunctionMetrics, ...] | None


def versions() -> dict[str, str]:
    """Return the versions of the tools, which affect marks."""
    return {name: version(name) for name in ("ruff", "lizard")}


def inspect(files: Sequence[SourceFile]) -> Inspection:
    """Run both tools in parallel on files that are not oversized.

    Raises:
        PrerequisiteError: ruff is not installed.
        JudgeError: the machine gave a tool too little time.
    """
    files = [file for file in files if not file.oversized]
    if not files:
        return Inspection((), ())
    with scratch.folder() as place:
        names = _copy(files, place)
        python = [name for name, file in names.items() if file.syntax.linted]
        spans = {name: _find_spans(file) for name, file in names.items()}
        ruff = _start(_build_ruff_command(), place) if python else None
        asked = [name for name, own in spans.items() if own is None]
        lizard = _start([interpreter.EXECUTABLE, "-I", "-c", _LIZARD, *asked], place) if asked else None
        try:
            said_by_lizard = _answer(lizard) if lizard else ""
            said_by_ruff = _answer(ruff) if ruff else "[]"
        finally:
            for process in (lizard, ruff):
                if process is not None:
                    process.kill()
                    process.communicate()
    functions = None if said_by_lizard is None else _parse_functions(spans, said_by_lizard, names)
    return Inspection(_parse_remarks(said_by_ruff, names), functions)


def _find_spans(file: SourceFile) -> list[FunctionSpan] | None:
    if file.tree is None:
        return [] if file.syntax.linted else None
    found = file.syntax.functions(file.tree)
    return None if found is None else list(found)


def _copy(files: Sequence[SourceFile], folder: Path) -> dict[str, SourceFile]:
    names = {}
    for number, file in enumerate(files):
        path = PurePosixPath(file.path)
        # ruff treats imports in `__init__.py` as a public surface; no other name matters
        name = f"{number:04}/{path.name if path.name == '__init__.py' else f'source{path.suffix}'}"
        place = folder / name
        place.parent.mkdir()
        place.write_text(_EXCUSES.sub("excuse", file.text), encoding="utf-8", errors="replace")
        names[name] = file
    return names


def _build_ruff_command() -> list[str]:
    beside = Path(sysconfig.get_path("scripts"), "ruff")
    found = str(beside) if beside.exists() else shutil.which("ruff")
    if found is None:
        raise PrerequisiteError(
            "ruff, which grades source, is not installed beside the harness: "
            f"{sys.executable} -m pip install 'ruff>=0.14,<0.18'"
        )
    target = f"py{sys.version_info.major}{sys.version_info.minor}"
    options = ["--isolated", "--ignore-noqa", "--no-cache", "--exit-zero", "--output-format=json"]
    chosen = [f"--target-version={target}", f"--select={','.join(RULES)}", f"--ignore={','.join(HARMLESS)}"]
    return [found, "check", *options, *chosen, "."]


def _start(command: Sequence[str], folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,  # Ctrl-C lets a running grade end
    )
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (SECONDS, SECONDS))
    return process


def _answer(process: subprocess.Popen[str]) -> str | None:
    try:
        said, _ = process.communicate(timeout=WALL_SECONDS)
    except subprocess.TimeoutExpired:
        raise JudgeError(f"a tool that reads source did not end within {WALL_SECONDS:g} s of wall time") from None
    return said if process.returncode == 0 else None


def _parse_remarks(said: str | None, names: dict[str, SourceFile]) -> tuple[LintFinding, ...] | None:
    if said is None:
        return None
    found: list[dict[str, Any]] = json.loads(said)
    placed = ((item, names["/".join(Path(item["filename"]).parts[-2:])]) for item in found)
    return tuple(
        LintFinding(file.path, item["location"]["row"], item["code"] or "invalid-syntax", item["message"])
        for item, file in placed
        if item["code"] != UNDEFINED
        or any(f"`{name}`" in item["message"] for name in _find_names(file, item["location"]["row"]))
    )


def _find_names(file: SourceFile, line: int) -> Iterator[str]:
    """Yield the names of a line outside strings, where annotations may name axes."""
    nodes = ast.walk(file.tree) if file.tree else ()
    yield from (node.id for node in nodes if isinstance(node, ast.Name) and node.lineno == line)


def _parse_functions(
    spans: dict[str, list[FunctionSpan] | None], said: str, names: dict[str, SourceFile]
) -> tuple[FunctionMetrics, ...]:
    found = [(names[name], span) for name, own in spans.items() for span in own or ()]
    for line in said.splitlines():
        name, function, first, last, complexity = json.loads(line)
        found.append((names[name], FunctionSpan(function, first, first, last, complexity)))
    lengths = _count_own_lines(found)
    return tuple(
        FunctionMetrics(file.path, span.name, span.line, length, span.complexity)
        for (file, span), length in zip(found, lengths, strict=True)
    )


def _count_own_lines(found: Sequence[tuple[SourceFile, FunctionSpan]]) -> list[int]:
    """Return the code lines of each function without those of functions inside it, which count on their own."""
    owners: dict[tuple[str, int], int] = {}
    for index, (file, span) in sorted(enumerate(found), key=lambda each: each[1][1].first):
        owners |= {(file.path, line): index for line in range(span.first, span.last + 1)}
    files = {file.path: file for file, _ in found}.values()
    own = Counter(owners.get((file.path, line.number)) for file in files for line in file.code)
    return [own[index] for index in range(len(found))]
