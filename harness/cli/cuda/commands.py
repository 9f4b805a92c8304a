"""`harness cuda`: memory, races and traffic of any CUDA program, without a GPU."""

import shutil
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from harness.cli import output
from harness.cli.cuda.each import check_each
from harness.cli.format_option import format_option

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.cuda.emulator import build, device_trace
    from harness.cuda.programs import estimates
    from harness.cuda.programs.program import Mode, ProgramLimits, ProgramRun, ProgramSource
    from harness.sandbox import Tier

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Check any CUDA program and count its traffic, without a GPU."
)
_ARGUMENTS = "harness.arguments"


class Annotations(StrEnum):
    """Code hosts with supported annotations."""

    GITHUB = "github"


class ProgramCommand(TyperCommand):
    """Command that passes the words after `--` to another program."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Store the words after `--` for the program."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_ARGUMENTS] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Add the program's arguments to the usage line."""
        return [*super().collect_usage_pieces(ctx), "[-- ARGS...]"]


Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE.cu", help="Source files of the program, one with `main`; or a program of `harness cuda cc`."
    ),
]
Schedules = Annotated[
    int,
    typer.Option(
        "--schedules",
        "--seeds",
        min=1,
        max=1000,
        help="Number of schedules to try, starting at --seed: orders of threads, and of blocks.",
    ),
]
Root = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="Folder it may include and read from, and runs in; that of the FILEs by default."
    ),
]
Defines = Annotated[
    list[str] | None, typer.Option("--define", "-D", metavar="NAME[=VALUE]", help="Define a macro, as with nvcc -D.")
]
Includes = Annotated[
    list[Path] | None, typer.Option("--include", "-I", metavar="FOLDER", help="Search it for headers, as nvcc -I does.")
]
Standard = Annotated[str, typer.Option("--std", metavar="LEVEL", help="C++ level: c++11, c++14, c++17 or c++20.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the thread schedule; 0 runs warps in order.")]
Memory = Annotated[int, typer.Option(min=256, metavar="MIB", help="Memory limit of the program.")]
Timeout = Annotated[float, typer.Option(min=1, metavar="SECONDS", help="Wall-clock limit of each run.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON object with the report of every run.")]
AsSarif = Annotated[bool, typer.Option("--sarif", help="The same as --format sarif, for code hosts.")]
Format = Annotated[str, format_option("program", "table")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Another value for a variable of `main`, a constant or a macro."),
]
Launches = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Stop the program after its first N kernel launches.")
]
Blocks = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Run at most N blocks of each launch: the first, the last, others drawn."),
]
Cores = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Check the blocks of a long launch on up to N processors; 8 by default."),
]
Each = Annotated[bool, typer.Option("--each", help="Check every FILE with a `main` by itself, as hooks name them.")]
Seconds = Annotated[int | None, typer.Option(min=1, metavar="N", help="Stop each run after N seconds, as no failure.")]

ForHost = Annotated[
    Annotations | None,
    typer.Option(help="Print commands that make a code host show findings beside the lines, too."),
]


@app.command(cls=ProgramCommand)
def check(
    context: typer.Context,
    files: Files,
    seed: Seed = 0,
    schedules: Schedules = 1,
    root: Root = None,
    defines: Defines = None,
    includes: Includes = None,
    standard: Standard = "c++17",
    memory: Memory = 8192,
    timeout: Timeout = 60,
    sets: Sets = None,
    launches: Launches = None,
    blocks: Blocks = None,
    seconds: Seconds = None,
    cores: Cores = None,
    each: Each = False,
    format: Format = "table",
    as_json: AsJson = False,
    as_sarif: AsSarif = False,
    annotations: ForHost = None,
) -> None:
    """Find memory faults, races and misused synchronisation.

    Builds the program for the emulated device and runs it with every access checked: out of bounds, use after free,
    uninitialised reads, misalignment, host and device pointers mixed up, races in shared and global memory, divergent
    barriers, shuffles from inactive lanes, deadlock.

    Exits with 1 if a defect was found or the program failed, with 2 if it does not build or uses a feature that the
    device lacks. A program that is stopped at --launches or --seconds has not failed, nor one that says so itself
    after only a sample of its blocks was run (--blocks).

    \b
    harness cuda check softmax.cu --set T=64 --launches 10
    harness cuda check main.cu kernels.cu --schedules 5 -- --rows 64
    """
    from harness.cuda.programs.program import Mode, ProgramLimits

    format = _choose_format(format, as_json, as_sarif, each)
    words = _build_options(defines, includes, standard)
    limits = ProgramLimits(timeout, memory, seconds, launches, blocks, cores)

    def check_program(files: Sequence[Path]) -> None:
        schedule = range(seed, seed + schedules)
        with _run(context, files, Mode.CHECK, schedule, root, words, sets, limits) as (source, runs):
            _say_checked(source, runs, format, annotations)
        if any(run.failed or (run.report and run.report.found()) for run in runs):
            raise typer.Exit(1)

    check_each(files, check_program) if each else check_program(files)


@app.command(cls=ProgramCommand)
def count(
    context: typer.Context,
    files: Files,
    seed: Seed = 0,
    root: Root = None,
    defines: Defines = None,
    includes: Includes = None,
    standard: Standard = "c++17",
    memory: Memory = 8192,
    timeout: Timeout = 60,
    sets: Sets = None,
    launches: Launches = None,
    seconds: Seconds = None,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="GPU that estimates are for; an unknown one lists all.")
    ] = "a100",
    registers: Annotated[bool, typer.Option(help="Ask nvcc how many registers each kernel uses.")] = False,
    as_json: AsJson = False,
) -> None:
    """Count the memory traffic of every kernel launch.

    Builds the program for the emulated device and counts bytes and passes per buffer, 32-byte sectors per request
    against the ideal number, and shared-memory bank conflicts. These are counts, not timings. What is said of the
    GPU named by --device is an estimate: occupancy, and how long its memory takes for the bytes that were counted.

    Exits with 1 if the program failed, with 2 if it does not build or uses a feature that the device lacks.

    \b
    harness cuda count softmax.cu
    harness cuda count main.cu kernels.cu -- --rows 64
    """
    from harness.cli.cuda import output as cuda_output
    from harness.cuda.programs.program import Mode, ProgramLimits
    from harness.report.exports.programs import as_data

    words = _build_options(defines, includes, standard)
    estimates = _build_estimates(files, root, words, device, ask=registers)
    limits = ProgramLimits(timeout, memory, seconds, launches)
    with _run(context, files, Mode.COUNT, (seed,), root, {**words, "counted": True}, sets, limits) as (source, runs):
        if as_json:
            output.data({**as_data(source, runs), "estimates": estimates.as_data(runs[0])})
        else:
            cuda_output.traffic(source, runs[0], estimates.lines)
    if runs[0].failed:
        raise typer.Exit(1)


class NvccCommand(TyperCommand):
    """Command that accepts nvcc's options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Store all words, except a lone `--help`."""
        alone = args in (["--help"], ["-h"])
        ctx.meta[_ARGUMENTS] = [] if alone else args
        return super().parse_args(ctx, ["--help"] if alone else [])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the usage line's pieces."""
        return ["[NVCC OPTIONS] FILES..."]


@app.command(cls=NvccCommand)
def cc(context: typer.Context) -> None:
    """Compile and link in place of nvcc.

    Takes the options of nvcc and makes objects and programs for the emulated device. A program is checked by `harness
    cuda check ./PROGRAM`, and counted by `harness cuda count ./PROGRAM`; started by itself it runs unchecked. What
    nothing depends on here is passed over: architectures, optimisation, debug information.

    Exits with 2 if something does not build.

    \b
    make NVCC="harness cuda cc"
    harness cuda check ./softmax -- --rows 64
    """
    from harness.cli.cuda.cc import run_compiler

    code = run_compiler(context.meta[_ARGUMENTS])
    if code:
        raise typer.Exit(code)


@app.command()
def toolkit(folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder.")]) -> None:
    """Lay out a folder as a CUDA toolkit, for CMake and Makefiles that look for one.

    Its `bin/nvcc` is `harness cuda cc`, its headers are those of the emulated device, its `libcudart` is the device.

    \b
    harness cuda toolkit ~/emulated
    cmake -B build -DCMAKE_CUDA_COMPILER=$HOME/emulated/bin/nvcc
    """
    from harness.cuda.programs import fake_toolkit

    fake_toolkit.lay_out(folder)


def _choose_format(format: str, as_json: bool, as_sarif: bool, each: bool) -> str:
    chosen = {format} - {"table"} | ({"json"} if as_json else set()) | ({"sarif"} if as_sarif else set())
    if len(chosen) > 1:
        raise typer.BadParameter("give one of --format, --json and --sarif")
    if each and chosen:
        raise typer.BadParameter("--each prints text and annotations; give --format, --json and --sarif one program")
    return chosen.pop() if chosen else "table"


@contextmanager
def _run(
    context: typer.Context,
    files: Sequence[Path],
    mode: "Mode",
    seeds: Sequence[int],
    root: Path | None,
    words: dict[str, Any],
    sets: Sequence[str] | None,
    limits: "ProgramLimits",
) -> "Iterator[tuple[ProgramSource, list[ProgramRun]]]":
    from harness.cuda.programs import rewritten_sources
    from harness.cuda.programs.program import Mode, ProgramSource, run_program
    from harness.cuda.programs.slow_hint import SlowHint
    from harness.cuda.programs.tier import forget, tier_here
    from harness.errors import BoxError
    from harness.sandbox.confinement import scratch

    tier = tier_here()
    with scratch.folder() as place, scratch.folder() as copied:
        if len(files) == 1 and rewritten_sources.is_program(files[0]):
            source = rewritten_sources.source_of(files[0], root)
            path = Path(shutil.copy(files[0], place))
        else:
            source = ProgramSource.of(files, root)
            written, source = _set_values(source, sets, copied) if sets else (source, source)
            path = _build(written, place, tier, words)
        hint = SlowHint(output.note, samples=bool(mode & Mode.CHECK), seconds=limits.seconds)
        given = context.meta[_ARGUMENTS]
        try:
            runs = [
                run_program(source, path, given, tier=tier, mode=mode, seed=seed, limits=limits, watch=hint)
                for seed in seeds
            ]
        except BoxError:
            forget()
            raise
        yield source, runs
    lacking = dict.fromkeys(lack for run in runs if run.report for lack in run.report.unsupported)
    if lacking:
        _say_lacking(lacking)
        raise typer.Exit(2)


def _build(source: "ProgramSource", into: Path, tier: "Tier", words: dict[str, Any]) -> Path:
    from harness.cuda.programs.program import build_program

    built = build_program(source, into, tier=tier, reuse=True, **words)
    if built.path is None:
        _say_lacking(built.unsupported)
        output.note(built.errors or "nothing was run, so the program is not at fault")
        raise typer.Exit(2)
    return built.path


def _build_estimates(
    files: Sequence[Path], root: Path | None, words: dict[str, Any], device: str, *, ask: bool
) -> "estimates.Estimates":
    from harness.cuda.programs import rewritten_sources
    from harness.cuda.programs.devices import DEVICES
    from harness.cuda.programs.estimates import Estimates
    from harness.cuda.programs.kernel_registers import kernel_registers
    from harness.cuda.programs.program import ProgramSource
    from harness.cuda.programs.tier import tier_here

    known = DEVICES.get(device.lower())
    if known is None:
        raise typer.BadParameter(f"--device {device}: give one of {', '.join(DEVICES)}")
    if not ask:
        return Estimates(known, (), "--registers asks nvcc")
    if len(files) == 1 and rewritten_sources.is_program(files[0]):
        return Estimates(known, (), "give the sources in place of the program")
    source = ProgramSource.of(files, root)
    kernels, why = kernel_registers(source, known.architecture, tier=tier_here(), **words)
    return Estimates(known, kernels, why)


def _say_checked(source: "ProgramSource", runs: "Sequence[ProgramRun]", format: str, host: Annotations | None) -> None:
    from harness.cli.cuda import output as cuda_output
    from harness.report import formats
    from harness.report.exports import programs

    if format == "table":
        cuda_output.defects(source, runs, quoted=host is not None)
    else:
        output.line(formats.load(formats.named("program")[format].program)(source, runs, Path.cwd()).rstrip("\n"))
    for text in programs.annotations(source, runs, Path.cwd()) if host else ():
        (output.line if format == "table" else output.note)(text)


def _set_values(source: "ProgramSource", sets: Sequence[str], into: Path) -> "tuple[ProgramSource, ProgramSource]":
    from harness.cuda.programs.initial_values import VALUE, with_values

    values = {name.strip(): value.strip() for name, _, value in (each.partition("=") for each in sets)}
    wrong = next((name for name, value in values.items() if not VALUE.fullmatch(value)), None)
    if wrong is not None:
        raise typer.BadParameter(
            f"--set {wrong}: give NAME=VALUE, where VALUE is a number or a name, or several for a list in braces"
        )
    copied, told = with_values(source, values, into)
    return copied, replace(source, changed=tuple(told.values()))


def _build_options(defines: Sequence[str] | None, includes: Sequence[Path] | None, standard: str) -> dict[str, Any]:
    from harness.cuda.emulator.flags import STANDARDS

    if standard not in STANDARDS:
        raise typer.BadParameter(f"--std {standard}: give one of {', '.join(sorted(STANDARDS))}")
    missing = next((folder for folder in includes or () if not folder.is_dir()), None)
    if missing is not None:
        raise typer.BadParameter(f"-I {missing}: is no folder")
    named = {name: value if equals else "1" for name, equals, value in (d.partition("=") for d in defines or ())}
    return {"defines": named, "includes": list(includes or ()), "standard": standard}


def _say_lacking(lacking: "Iterable[build.UnsupportedConstruct | device_trace.UnsupportedFeature]") -> None:
    for lack in lacking:
        where = f"{lack.file}:{lack.line}: " if lack.file else ""
        output.note(f"{where}unsupported on the emulated device: {lack.what}")
