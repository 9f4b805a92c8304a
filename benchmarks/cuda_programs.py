"""How many programs of a public repository `harness cuda check` builds and runs, and what it reports of them.

    python benchmarks/cuda_programs.py LIST.toml CLONE [--seconds 30] [--kept FILE.jsonl]

CLONE is a work tree of the repository that LIST.toml (one of `benchmarks/cuda_programs/`) names. Every program is built
and runs for so many seconds at most, in schedule 0. What came of each is kept in FILE.jsonl, a line each, and a second
run goes on where the first was ended. Programs whose row says `faults` are to be read by hand: true or false is nothing
that a machine can say. Fetches nothing; without arguments it says so.
"""

import argparse
import json
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.cuda.programs.faults import program_faults
from harness.cuda.programs.initial_values import with_values
from harness.cuda.programs.program import Mode, ProgramLimits, ProgramRun, ProgramSource, build_program, run_program
from harness.errors import HarnessError
from harness.sandbox import detect

COLUMNS = (
    "tried",
    "built",
    "ran",
    "of these in part",
    "stopped at the limit",
    "kernels left out",
    "failed",
    "with faults",
)


@dataclass(frozen=True)
class Program:
    """One program of a repository.

    Attributes:
        name: as the repository calls it.
        files: what is compiled, relative to the clone.
        arguments: its command line.
        root: folder that it may include and read from, relative to the clone.
        includes: folders of headers, relative to the clone.
        defines: macros.
        values: other initial values of local variables of `main`.
        blocks: so many blocks of each launch run at most; None for all.
    """

    name: str
    files: tuple[str, ...]
    arguments: tuple[str, ...]
    root: str
    includes: tuple[str, ...]
    defines: dict[str, str]
    values: dict[str, str]
    blocks: int | None = None

    @property
    def options(self) -> str:
        """How `harness cuda check` is told all this."""
        words = [f"-D {name}={value}" for name, value in self.defines.items()]
        words += [f"--set {name}={value}" for name, value in self.values.items()]
        words += [f"--blocks {self.blocks}"] if self.blocks else []
        return " ".join([*words, *(("--", *self.arguments) if self.arguments else ())])


@dataclass(frozen=True)
class Came:
    """What came of a program.

    Attributes:
        name: of the program.
        built: whether there was something to run.
        ended: how its run ended, in words; why it does not build where it does not.
        stopped: whether it was ended at the limit.
        failed: whether it said that it failed, or crashed.
        left_out: features that kernels were left out for.
        faults: `FILE:LINE kind` of every error reported.
        options: of `harness cuda check`, beside what compiles it.
        part: which share of its blocks ran, in words; empty for all of them.
        seconds: that it ran.
    """

    name: str
    built: bool
    ended: str
    stopped: bool = False
    failed: bool = False
    left_out: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    options: str = ""
    part: str = ""
    seconds: float = 0

    @property
    def marks(self) -> list[str]:
        """The columns in which it counts."""
        ran = self.built and not self.stopped and not self.failed and not self.left_out
        holds = (
            True,
            self.built,
            ran,
            ran and bool(self.part),
            self.stopped,
            bool(self.left_out),
            self.failed,
            bool(self.faults),
        )
        return [column for column, held in zip(COLUMNS, holds, strict=True) if held]


def programs(path: Path, clone: Path) -> list[Program]:
    """The programs of a list.

    A folder of the list stands for one program for each folder in it, with the `options` of its name, and a program
    with `versions` for one for each number, which is then its first argument.
    """
    listed = tomllib.loads(path.read_text(encoding="utf-8"))
    includes, left_out = tuple(listed.get("includes", ())), listed.get("left_out", {})
    found = []
    for place in listed.get("folders", ()):
        for folder in sorted(p for p in (clone / place).iterdir() if p.is_dir() and p.name not in left_out):
            files = [p for p in sorted(folder.rglob("*")) if p.suffix in (".cu", ".cpp", ".c")]
            if files:
                names = tuple(p.relative_to(clone).as_posix() for p in files)
                root = folder.relative_to(clone).as_posix()
                how = listed.get("options", {}).get(folder.name, {})
                found.append(Program(folder.name, names, _words(how), root, includes, **_options(how)))
    for each in listed.get("programs", ()):
        files = tuple(each["files"])
        name, root = each.get("name", Path(files[0]).stem), each.get("root", str(Path(files[0]).parent))
        for version in each.get("versions", [None]):
            words = (*((str(version),) if version else ()), *_words(each))
            called = f"{name} {version}" if version else name
            found.append(Program(called, files, words, root, includes, **_options(each)))
    return found


def _words(how: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(map(str, how.get("arguments", ())))


def _options(how: Mapping[str, Any]) -> dict[str, Any]:
    """What makes a program small, as its list says it."""
    values = {known: str(value) for known, value in how.get("values", {}).items()}
    return {"defines": how.get("defines", {}), "values": values, "blocks": how.get("blocks")}


def checked(program: Program, clone: Path, seconds: int) -> Came:
    """Build and run one program."""
    try:
        source = ProgramSource.of([clone / file for file in program.files], clone / program.root)
        with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as copied:
            written = with_values(source, program.values, Path(copied))[0] if program.values else source
            built = build_program(
                written, Path(place), tier=detect(), defines=program.defines,
                includes=[clone / folder for folder in program.includes],
            )  # fmt: skip
            if built.path is None:
                lacking = [f"{u.what} ({u.file}:{u.line})" for u in built.unsupported[:3]]
                return Came(program.name, False, "; ".join(lacking) or built.errors[:300])
            limits = ProgramLimits(seconds + 10, enough_seconds=seconds, blocks=program.blocks)
            run = run_program(
                source, built.path, program.arguments, tier=detect(), mode=Mode.CHECK, limits=limits
            )  # fmt: skip
    except HarnessError as error:
        return Came(program.name, False, str(error)[:300])
    return came(program, run)


def lacking(path: Path, rows: Iterable[Came]) -> list[tuple[str, list[str]]]:
    """What is not supported with the programs that it costs, most first: left out of the list, not built, in part."""
    found: dict[str, list[str]] = {}
    for name, why in tomllib.loads(path.read_text(encoding="utf-8")).get("left_out", {}).items():
        found.setdefault(f"left out of the list for {why}", []).append(name)
    for row in rows:
        for what in [row.ended] if not row.built else row.left_out:
            found.setdefault(f"{'kernels left out' if row.built else 'not built'}: {what}", []).append(row.name)
    return sorted(found.items(), key=lambda each: -len(each[1]))


def came(program: Program, run: ProgramRun) -> Came:
    """What one run shows."""
    report = run.report
    faults = [f for f in program_faults([run]) if f.defect.severity == "error"]
    places = tuple(f"{f.defect.file}:{f.defect.line} {f.defect.kind}" for f in faults)
    left_out = tuple(sorted({u.what for u in report.unsupported})) if report else ()
    stopped = run.stopped_as_asked or bool(run.completed.exceeded)
    return Came(
        program.name, True, run.ended, stopped, run.failed and not stopped, left_out, places,
        program.options, run.share or "", round(run.completed.seconds, 1),
    )  # fmt: skip


def main() -> None:
    """Read the command line, run what was not run yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("list", type=Path)
    parser.add_argument("clone", type=Path)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--kept", type=Path, help="what came of each program, a line each")
    given = parser.parse_args()
    kept = given.kept.read_text().splitlines() if given.kept and given.kept.exists() else []
    done = {row["name"]: Came(**row) for row in map(json.loads, kept)}
    for program in programs(given.list, given.clone):
        if program.name not in done:
            done[program.name] = checked(program, given.clone, given.seconds)
            if given.kept:
                with given.kept.open("a") as file:
                    file.write(json.dumps(asdict(done[program.name])) + "\n")
        row = done[program.name]
        said = f"{row.name}: {', '.join(row.marks)}: {row.ended} after {row.seconds} s"
        print(said, *filter(None, (row.options, row.part)), *row.left_out, *row.faults, sep="\n    ", flush=True)
    counts = Counter(mark for row in done.values() for mark in row.marks)
    print(*(f"{column}: {counts[column]}" for column in COLUMNS), sep="\n")
    for what, names in lacking(given.list, done.values()):
        print(f"{what}: {len(names)} ({', '.join(names)})")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print("needs a list and a clone of its repository, and fetches none: see --help")
    else:
        main()
