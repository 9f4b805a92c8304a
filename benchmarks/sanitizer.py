"""What compute-sanitizer sees of the faults in `tests/cuda/faults`, and of the right kernels in `tests/cuda/clean`.

    python benchmarks/sanitizer.py

Every program is built by nvcc with line numbers and runs on the GPU, by itself and under each tool; a program of many
planted kernels launches one of them at a time. A fault is seen where a report names a marked line; a report that names
none counts apart. Needs an NVIDIA GPU, nvcc and compute-sanitizer; it stops with a message without them.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from harness.cuda.gpu.device import gpu_device

CORPUS = Path(__file__).parents[1] / "tests" / "cuda"
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
PLAIN = "plain"
FAULT = re.compile(r"// FAULT ([a-z_|]+)$")
KERNEL = re.compile(r"^__global__ void (\w+)")
LAUNCH = re.compile(r"^    (\w+)<<<")
ONLY = "ONLY"
"""Names the planted kernel that a program of many is to launch."""
CHOSEN = (
    "#include <cstdlib>\n#include <cstring>\n"
    f'static bool chosen(const char* kernel) {{ return !strcmp(getenv("{ONLY}"), kernel); }}\n#line 1\n'
)


@dataclass(frozen=True)
class Case:
    """A program, or one planted kernel of it.

    Attributes:
        program: its source, relative to the corpus.
        kernel: the one that is launched; empty for a whole program, `-` for all that are right.
        kind: the fault's; empty where there is none.
        lines: those that are marked.
    """

    program: str
    kernel: str = ""
    kind: str = ""
    lines: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Verdict:
    """What one run showed: `right` or `wrong`; of a tool `silent`, `seen`, `elsewhere`, `hangs` or `failed`."""

    case: Case
    tool: str
    word: str
    text: str = field(repr=False, default="")


def planted(source: Path) -> dict[str, tuple[str, frozenset[int]]]:
    """Kind and marked lines of every kernel of a program that has any."""
    found: dict[str, tuple[str, frozenset[int]]] = {}
    kernel = ""
    for number, line in enumerate(source.read_text().splitlines(), 1):
        kernel = named[1] if (named := KERNEL.search(line)) else kernel
        if marked := FAULT.search(line):
            lines = found[kernel][1] if kernel in found else frozenset()
            found[kernel] = (marked[1], lines | {number})
    return found


def cases() -> Iterator[Case]:
    """Every right program, every fault, and the right kernels among planted ones."""
    for source in sorted((CORPUS / "clean").rglob("*.cu")):
        yield Case(str(source.relative_to(CORPUS)))
    for source in sorted((CORPUS / "faults").rglob("*.cu")):
        name, faults = str(source.relative_to(CORPUS)), planted(source)
        if source.parent.name == "kernels":
            yield Case(name, "-")
            yield from (Case(name, kernel, *fault) for kernel, fault in faults.items())
        else:
            kinds = sorted({kind for kind, _ in faults.values()})
            yield Case(name, "", kinds[0], frozenset(line for _, lines in faults.values() for line in lines))


def build(program: str, folder: Path, architecture: str) -> str:
    """Compile a program into `folder`; the compiler's words where it does not."""
    source = CORPUS / program
    text = source.read_text()
    if source.parent.name == "kernels" and "faults" in program:
        named = planted(source)
        lines = (
            f'    if (chosen("{launch[1]}")) {line.strip()}' if (launch := LAUNCH.search(line)) and launch[1] in named
            else line for line in text.splitlines()
        )  # fmt: skip
        text = CHOSEN + "\n".join(lines) + "\n"
    copy = folder / source.name
    copy.write_text(text)
    words = ("nvcc", "-std=c++17", f"-arch={architecture}", "-lineinfo", "-w", f"-I{source.parent}")
    linked = ("-lcublas",) if "cublas" in text else ()
    done = subprocess.run(
        [*words, str(copy), "-o", str(folder / "program"), *linked], capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stderr[-2000:] or "nvcc failed"


def run(case: Case, tool: str, folder: Path, asked: argparse.Namespace, end: float) -> Verdict | None:
    """One run, by itself or under a tool; None past the end of the time given."""
    if time.monotonic() > end:
        return None
    verdict = _run(case, tool, folder, asked.seconds)
    if asked.keep:
        name = f"{case.program} {case.kernel} {tool}".replace("/", " ").replace(" ", ".")
        (asked.keep / name).write_text(f"{verdict.word}\n{verdict.text[:20_000]}")
    return verdict


def _run(case: Case, tool: str, folder: Path, seconds: float) -> Verdict:
    watched = () if tool == PLAIN else ("compute-sanitizer", "--tool", tool, "--destroy-on-device-error", "kernel")
    environment = {**os.environ, ONLY: case.kernel}
    try:
        done = subprocess.run(
            [*watched, str(folder / "program")], capture_output=True, timeout=seconds, env=environment, check=False
        )
    except subprocess.TimeoutExpired as late:
        text = (late.stdout or b"").decode(errors="replace")
        word = judged(case, text)
        return Verdict(case, tool, "hangs" if tool == PLAIN or word in ("silent", "failed") else word, text)
    text = (done.stdout + done.stderr).decode(errors="replace")
    if tool == PLAIN:
        return Verdict(case, tool, "right" if done.returncode == 0 else "wrong", f"{done.returncode}\n{text}")
    return Verdict(case, tool, judged(case, text), text)


def judged(case: Case, text: str) -> str:
    """A tool's word: `seen` at a marked line, `elsewhere`, `silent`, or `failed` where it tells nothing."""
    said = [line for line in text.splitlines() if line.startswith("=========")]
    places = {(name, int(line)) for name, line in re.findall(r"([\w.]+\.cuh?):(\d+)", "\n".join(said))}
    if places & {(Path(case.program).name, line) for line in case.lines}:
        return "seen"
    counted = [int(n) for n in re.findall(r"SUMMARY: (\d+) (?:error|hazard)", text)]
    if any(counted) or (not counted and len(said) > 2):
        return "elsewhere"
    return "silent" if counted else "failed"


def table(verdicts: Sequence[Verdict]) -> None:
    """Print how many faults of each kind each tool sees, and every right program that one reports."""
    of: dict[Case, dict[str, str]] = {}
    for verdict in verdicts:
        of.setdefault(verdict.case, {})[verdict.tool] = verdict.word
    faults = {case: words for case, words in of.items() if case.kind}
    print(f"{'fault':<24} {'planted':>8} {'at line':>8} {'reported':>9}  by tool, at the line")
    for kind in sorted({case.kind for case in faults}):
        rows = [words for case, words in faults.items() if case.kind == kind]
        tools = Counter(tool for words in rows for tool, word in words.items() if word == "seen")
        seen = sum("seen" in words.values() for words in rows)
        reported = sum(bool({"seen", "elsewhere"} & set(words.values())) for words in rows)
        print(f"{kind:<24} {len(rows):>8} {seen:>8} {reported:>9}  {dict(tools) or '-'}")
    seen = sum("seen" in words.values() for words in faults.values())
    reported = sum(bool({"seen", "elsewhere"} & set(words.values())) for words in faults.values())
    print(f"{'all':<24} {len(faults):>8} {seen:>8} {reported:>9}")
    right = {case: words for case, words in of.items() if not case.kind}
    quiet = sum(set(words.values()) <= {"right", "silent"} for words in right.values())
    print(f"right programs: {quiet} of {len(right)} run right and no tool reports anything")
    for case, words in of.items():
        if case.kind:
            print(f"  {case.program} {case.kernel}: {words}")
        elif not set(words.values()) <= {"right", "silent"}:
            print(f"  RIGHT {case.program} {case.kernel}: {words}")


def main() -> int:
    """Build, run and print, or say why not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2), help="programs side by side")
    parser.add_argument("--seconds", type=float, default=20, help="for each run")
    parser.add_argument("--within", type=float, default=3600, help="seconds for all runs together")
    parser.add_argument("--keep", type=Path, help="a folder for what the tools say")
    asked = parser.parse_args()
    device, lacking = gpu_device(), [name for name in ("nvcc", "compute-sanitizer") if not shutil.which(name)]
    if device is None or lacking:
        print(f"no {' or '.join(['NVIDIA GPU'] if device is None else lacking)} here: nothing was compared")
        return 0
    print(f"{device.name}, driver {device.driver or 'unknown'}")
    every = list(cases())
    with tempfile.TemporaryDirectory() as room, ThreadPoolExecutor(asked.jobs) as pool:
        folders = {program: Path(room, str(n)) for n, program in enumerate(sorted({c.program for c in every}))}
        for folder in folders.values():
            folder.mkdir()
        words = dict(zip(folders, pool.map(lambda p: build(p, folders[p], device.architecture), folders), strict=True))
        for program, said in words.items():
            if said:
                print(f"does not build: {program}\n{said}")
        built = [(case, tool) for tool in (*TOOLS, PLAIN) for case in every if not words[case.program]]
        built.sort(key=lambda one: "deadlock" in one[0].kind)  # those that hang come last: the others share the GPU
        end = time.monotonic() + asked.within
        found = list(pool.map(lambda one: run(*one, folders[one[0].program], asked, end), built))
    verdicts = [verdict for verdict in found if verdict]
    if len(verdicts) < len(found):
        print(f"time was up: {len(found) - len(verdicts)} of {len(found)} runs are left out")
    table(verdicts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
