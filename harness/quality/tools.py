"""ruff and lizard as separate processes over a copy of the text: neither imports, nor obeys, what it reads.

The copy holds one folder per file, so no configuration, ignore list or exclusion of an answer is ever found.
"""

import contextlib
import json
import re
import resource
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any

from harness.errors import JudgeError, PrerequisiteError
from harness.quality.sources import SourceFile
from harness.sandbox import scratch

RULES = ("F", "B", "E9", "PLE")
"""pyflakes, bugbear, syntax errors, pylint errors."""
TASTE = ("F401", "F541", "F841", "B007", "B009", "B010", "B028", "B904", "B905")
"""Rules of these families whose findings change no result: unused imports and names, f-strings without a value,
constant attribute names, `zip` without `strict`, levels and causes of warnings and errors."""
SECONDS = 60
"""Processor time of a tool; one that uses it all gives no figures, on any machine."""
WALL_SECONDS = 1200.0
"""Wall time of a tool, after which the machine is at fault."""

_LIZARD = """
import json, pathlib, lizard
for path in sorted(pathlib.Path().glob("*/*")):
    for f in lizard.analyze_file(str(path)).function_list:
        print(json.dumps([str(path), f.name, f.start_line, f.nloc, f.cyclomatic_complexity]))
"""

# words in comments that make lizard skip what follows
_EXCUSES = re.compile(r"lizard\s+forgive|GENERATED CODE", re.IGNORECASE)


@dataclass(frozen=True)
class LintFinding:
    """One finding of ruff: file, line, rule (`invalid-syntax` for what does not parse) and its words."""

    path: str
    line: int
    rule: str
    text: str


@dataclass(frozen=True)
class FunctionMetrics:
    """One function as lizard sees it.

    Attributes:
        path: file it is in.
        name: with the names around it, dotted.
        line: first line, from 1.
        length: lines of code, docstring and comments left out.
        complexity: cyclomatic complexity.
    """

    path: str
    name: str
    line: int
    length: int
    complexity: int


@dataclass(frozen=True)
class Inspection:
    """What both tools said; None where one gave no answer.

    Attributes:
        remarks: ruff's, over Python files only.
        functions: lizard's, over all files.
    """

    remarks: tuple[LintFinding, ...] | None
    functions: tuple[FunctionMetrics, ...] | None


def versions() -> dict[str, str]:
    """Versions of the tools: marks move with them."""
    return {name: version(name) for name in ("ruff", "lizard")}


def inspect(files: Sequence[SourceFile]) -> Inspection:
    """Run both tools, at the same time, over the text of those `files` that are not oversized.

    Raises:
        PrerequisiteError: ruff is not installed beside the harness.
        JudgeError: the machine gave a tool too little time.
    """
    files = [file for file in files if not file.oversized]
    if not files:
        return Inspection((), ())
    with scratch.folder() as place:
        names = _copy(files, place)
        python = [name for name, file in names.items() if file.syntax.linted]
        ruff = _start(_ruff_command(), place) if python else None
        lizard = _start([sys.executable, "-I", "-c", _LIZARD], place)
        try:
            said_by_lizard = _answer(lizard)
            said_by_ruff = _answer(ruff) if ruff else "[]"
        finally:
            for process in (lizard, ruff):
                if process is not None:
                    process.kill()
                    process.communicate()
    return Inspection(_remarks(said_by_ruff, names), _functions(said_by_lizard, names))


def _copy(files: Sequence[SourceFile], folder: Path) -> dict[str, SourceFile]:
    names = {}
    for number, file in enumerate(files):
        name = f"{number:04}/{_plain_name(file)}"
        place = folder / name
        place.parent.mkdir()
        place.write_text(_EXCUSES.sub("excuse", file.text), encoding="utf-8", errors="replace")
        names[name] = file
    return names


def _plain_name(file: SourceFile) -> str:
    # ruff treats imports in `__init__.py` as a public surface; no other name matters
    path = PurePosixPath(file.path)
    return path.name if path.name == "__init__.py" else f"source{path.suffix}"


def _ruff_command() -> list[str]:
    beside = Path(sysconfig.get_path("scripts"), "ruff")
    found = str(beside) if beside.exists() else shutil.which("ruff")
    if found is None:
        raise PrerequisiteError(
            "ruff, which grades source, is not installed beside the harness: "
            f"{sys.executable} -m pip install 'ruff>=0.14,<0.18'"
        )
    target = f"py{sys.version_info.major}{sys.version_info.minor}"
    options = ["--isolated", "--ignore-noqa", "--no-cache", "--exit-zero", "--output-format=json"]
    return [
        found,
        "check",
        *options,
        f"--target-version={target}",
        f"--select={','.join(RULES)}",
        f"--ignore={','.join(TASTE)}",
        ".",
    ]


def _start(command: Sequence[str], folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (SECONDS, SECONDS))
    return process


def _answer(process: subprocess.Popen[str]) -> str | None:
    try:
        said, _ = process.communicate(timeout=WALL_SECONDS)
    except subprocess.TimeoutExpired:
        raise JudgeError(f"a tool that reads source did not end within {WALL_SECONDS:g} s of wall time") from None
    return said if process.returncode == 0 else None


def _remarks(said: str | None, names: dict[str, SourceFile]) -> tuple[LintFinding, ...] | None:
    if said is None:
        return None
    found: list[dict[str, Any]] = json.loads(said)
    return tuple(
        LintFinding(
            _original(item["filename"], names).path,
            item["location"]["row"],
            item["code"] or "invalid-syntax",
            item["message"],
        )
        for item in found
    )


def _functions(said: str | None, names: dict[str, SourceFile]) -> tuple[FunctionMetrics, ...] | None:
    if said is None:
        return None
    rows = (json.loads(line) for line in said.splitlines())
    return tuple(
        FunctionMetrics(_original(name, names).path, function, line, length, complexity)
        for name, function, line, length, complexity in rows
    )


def _original(filename: str, names: dict[str, SourceFile]) -> SourceFile:
    return names["/".join(Path(filename).parts[-2:])]
