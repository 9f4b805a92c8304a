"""What the emulated CUDA device costs and catches, beside numba's CUDA simulator.

    python benchmarks/emulator.py [--numba PYTHON]

Everything printed is measured in this run; times are processor seconds of the emulating process, never a GPU's, and
every ratio compares runs of this machine made in turn. numba's figures need an interpreter that has numba. Exits with
status 1 when a promise is broken.
"""

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from promises import Promises

from harness.cuda.programs.program import Mode, ProgramLimits, ProgramRun, ProgramSource, build_program, run_program
from harness.sandbox import detect

HERE = Path(__file__).parent
CORPUS = HERE.parent / "tests" / "cuda"
MODES = {"check": Mode.CHECK, "count": Mode.COUNT, "all": Mode.CHECK | Mode.COUNT}
PROMISED = {"check": 6, "count": 8, "all": 12}
"""How many times the processor time of the plain run each mode may take."""
BUILD_SECONDS, CHECKED_SECONDS = 2.0, 20.0
CAUGHT = 30 / 32
"""Share of the planted faults that must be caught at their line."""
ROUNDS = 5
BIG = ("8", "50257", "256", "3")
"""Rows, columns, threads a block, launches: softmax at the vocabulary of GPT-2."""
SMALL = ("4", "1000", "64", "3")
PRODUCT = ("256", "3")
LONG = ("512", "1")
"""Rows of each matrix, launches."""


def built(files: list[Path], folder: Path, *, instrumented: bool = True) -> tuple[Path, float]:
    """The program made of `files` and the seconds it took to build."""
    into = Path(tempfile.mkdtemp(dir=folder))
    made = build_program(ProgramSource.of(files), into, tier=detect(), instrumented=instrumented)
    if made.path is None:
        raise SystemExit(f"{files[0].name} does not build: {made.unsupported or made.errors}")
    return made.path, made.seconds


def launch_seconds(program: Path, mode: Mode, size: tuple[str, ...]) -> list[float]:
    """Processor seconds of the fastest launch of each kernel, which the program prints."""
    with open(os.devnull, "wb") as report:
        fd = report.fileno()
        environment = os.environ | {"EMU_MODE": str(mode.value), "EMU_REPORT_FD": str(fd)}
        done = subprocess.run(
            [program, *size], env=environment, pass_fds=[fd], stdout=subprocess.PIPE, text=True, check=True
        )
    return [float(word) for word in done.stdout.split()]


def slow_down(folder: Path, promises: Promises) -> list[float]:
    """Each mode against the plain build, in turn; then seconds of a launch at the small size, plain and all."""
    plain, _ = built([HERE / "cuda" / "softmax.cu"], folder, instrumented=False)
    checked, _ = built([HERE / "cuda" / "softmax.cu"], folder)
    print(f"softmax, {BIG[0]} rows of {BIG[1]}, {BIG[2]} threads a block: processor time against the plain run")
    for name, (three, online) in ratios(plain, checked, BIG, MODES).items():
        promises.at_most(f"  {name}, three passes", three, PROMISED[name], " x")
        promises.at_most(f"  {name}, online", online, PROMISED[name], " x")
    return [launch_seconds(plain, Mode.PLAIN, SMALL)[0], launch_seconds(checked, MODES["all"], SMALL)[0]]


def ratios(
    plain: Path, checked: Path, size: tuple[str, ...], modes: Mapping[str, Mode]
) -> dict[str, tuple[float, ...]]:  # fmt: skip
    """How many times the plain build's processor time each kernel takes in each mode: the median of runs in turn."""
    found: dict[str, list[list[float]]] = {name: [] for name in modes}
    for _ in range(ROUNDS):
        base = launch_seconds(plain, Mode.PLAIN, size)
        for name, mode in modes.items():
            taken = launch_seconds(checked, mode, size)
            found[name].append([t / b for t, b in zip(taken, base, strict=True)])
    return {name: tuple(map(statistics.median, zip(*rounds, strict=True))) for name, rounds in found.items()}


def tiled_product(folder: Path, promises: Promises) -> None:
    """Counting where nearly all accesses are to shared memory."""
    source = [HERE / "cuda" / "tiled_product.cu"]
    plain, checked = built(source, folder, instrumented=False)[0], built(source, folder)[0]
    print(f"tiled product of matrices of {PRODUCT[0]} rows: processor time against the plain run")
    for name, tiles in ratios(plain, checked, PRODUCT, {"count": Mode.COUNT}).items():
        for tile, ratio in zip((16, 32), tiles, strict=True):
            promises.at_most(f"  {name}, tiles of {tile}", ratio, PROMISED[name], " x")


def on_all_processors(folder: Path) -> None:
    """Checking one long launch with its blocks in turn, and on all processors."""
    source = ProgramSource.of([HERE / "cuda" / "tiled_product.cu"])
    program, _ = built([HERE / "cuda" / "tiled_product.cu"], folder)
    times: dict[int | None, list[float]] = {1: [], None: []}
    for _ in range(ROUNDS):
        for cores, seconds in times.items():
            start = time.perf_counter()
            ran = run_program(
                source, program, LONG, tier=detect(), mode=Mode.CHECK, limits=ProgramLimits(300, cores=cores)
            )
            seconds.append(time.perf_counter() - start)
            if ran.failed:
                raise SystemExit(f"tiled product: {ran.ended} {ran.completed.output}")
    one, all_of_them = (statistics.median(seconds) for seconds in times.values())
    print(f"tiled product of matrices of {LONG[0]} rows, checked: wall time, medians of {ROUNDS} in turn")
    print(f"  blocks in turn {one:.2f} s, on {len(os.sched_getaffinity(0))} processors {all_of_them:.2f} s: ", end="")
    print(f"{one / all_of_them:.2f} x faster")


def beside_numba(python: str, emulated: list[float]) -> None:
    """The same kernel on numba's simulator, another way to run CUDA on a processor."""
    script = HERE / "cuda" / "numba_softmax.py"
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run([python, script, *SMALL], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or ["no output"]
        print(f"numba's CUDA simulator: skipped, {python} cannot run it ({reason[0]}); name another with --numba")
        return
    numba = float(done.stdout)
    plain, everything = emulated
    print(f"three-pass softmax, {SMALL[0]} rows of {SMALL[1]}, {SMALL[2]} threads a block, processor time of a launch")
    print(f"  numba's simulator {numba * 1e3:9.2f} ms, values only")
    print(f"  emulated, plain   {plain * 1e3:9.2f} ms, {numba / plain:,.0f} x faster, values only")
    print(f"  emulated, all     {everything * 1e3:9.2f} ms, {numba / everything:,.0f} x faster, checked and counted")


def one_submission(folder: Path, promises: Promises) -> None:
    """The reference kernel of the challenge as a program: built, checked, counted."""
    place = folder / "submission"
    place.mkdir()
    answer = HERE.parent / "references" / "fused_softmax_topk" / "reference.cu"
    files = [Path(shutil.copy(file, place)) for file in (answer, HERE / "cuda" / "fused_main.cu")]
    seconds = [built(files, folder)[1] for _ in range(3)]
    start = time.perf_counter()
    program, _ = built(files, folder)
    for mode in (MODES["check"], MODES["count"]):
        ran = run_program(ProgramSource.of(files), program, tier=detect(), mode=mode)
        if ran.failed or ran.report is None or ran.report.found():
            raise SystemExit(f"the reference kernel fails in mode {mode.value}: {ran.ended} {ran.completed.output}")
    total = time.perf_counter() - start
    promises.at_most("fused softmax + top-k, built", statistics.median(seconds), BUILD_SECONDS, " s")
    promises.at_most("fused softmax + top-k, built, checked and counted", total, CHECKED_SECONDS, " s")


def corpus(promises: Promises) -> None:
    """How many planted faults are caught, and how many right kernels are reported."""
    sys.path.insert(0, str(CORPUS))
    import test_planted_faults_are_found as planted
    from cuda_programs import ran

    caught = sum(
        planted.Planted.of(file).caught(ran(file, Mode.CHECK)[0], file.name)
        for file in sorted(planted.FOLDER.glob("*.cu"))
    )
    silent = sorted((CORPUS / "clean").glob("*.cu"))
    loud = [file.name for file in silent if _reported(ran(file, Mode.CHECK))]
    faults = len(planted.PROGRAMS)
    promises.at_least(f"planted faults caught at their line, of {faults}", caught, math.ceil(CAUGHT * faults))
    promises.at_most(f"right kernels with a report, of {len(silent)}{' '.join(['', *loud])}", len(loud), 0)


def _reported(runs: list[ProgramRun]) -> bool:
    return any(run.failed or run.report is None or run.report.found("error", "warning") for run in runs)


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--numba", metavar="PYTHON", default=sys.executable, help="an interpreter that has numba")
    numba = parser.parse_args().numba
    promises = Promises()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        beside_numba(numba, slow_down(folder, promises))
        tiled_product(folder, promises)
        on_all_processors(folder)
        one_submission(folder, promises)
    corpus(promises)
    promises.settle()


if __name__ == "__main__":
    main()
