"""`harness cuda`: memory, races and traffic of any CUDA program, without a GPU."""

from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from harness.cli import output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.cuda import build, report
    from harness.cuda.program import Mode, ProgramRun, ProgramSource

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Check any CUDA program and count its traffic, without a GPU.",
)
_ARGUMENTS = "harness.arguments"


class ProgramCommand(TyperCommand):
    """A command that passes what follows `--` to another program."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep what follows `--` for the program."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_ARGUMENTS] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Name it in the usage line."""
        return [*super().collect_usage_pieces(ctx), "[-- ARGS...]"]


Files = Annotated[list[Path], typer.Argument(metavar="FILE.cu", help="Source files of the program, one with `main`.")]
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


@app.command(cls=ProgramCommand)
def check(
    context: typer.Context,
    files: Files,
    seed: Seed = 0,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Number of schedules to try, starting at --seed.")] = 1,
    root: Root = None,
    defines: Defines = None,
    includes: Includes = None,
    standard: Standard = "c++17",
    memory: Memory = 8192,
    timeout: Timeout = 60,
    as_json: AsJson = False,
) -> None:
    """Find memory faults, races and misused synchronisation.

    Builds the program for the emulated device and runs it with every access checked: out of bounds, use after free,
    uninitialised reads, misalignment, host and device pointers mixed up, races in shared and global memory, divergent
    barriers, shuffles from inactive lanes, deadlock.

    Exits with 1 if a defect was found or the program failed, with 2 if it does not build or uses a feature that the
    device lacks.

    \b
    harness cuda check softmax.cu
    harness cuda check main.cu kernels.cu --seeds 5 -- --rows 64
    """
    from harness.cli import cuda_output
    from harness.cuda.program import Mode, merged

    words = _words(defines, includes, standard)
    with _ran(context, files, Mode.CHECK, range(seed, seed + seeds), root, words, memory, timeout) as (source, runs):
        if as_json:
            output.data(cuda_output.as_data(source, runs))
        else:
            cuda_output.defects(source, runs, merged(runs))
    if any(run.failed or (run.report and run.report.found()) for run in runs):
        raise typer.Exit(1)


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
    as_json: AsJson = False,
) -> None:
    """Count the memory traffic of every kernel launch.

    Builds the program for the emulated device and counts bytes and passes per buffer, 32-byte sectors per request
    against the ideal number, and shared-memory bank conflicts. These are counts, not timings.

    Exits with 1 if the program failed, with 2 if it does not build or uses a feature that the device lacks.

    \b
    harness cuda count softmax.cu
    harness cuda count main.cu kernels.cu -- --rows 64
    """
    from harness.cli import cuda_output
    from harness.cuda.program import Mode

    words = _words(defines, includes, standard)
    with _ran(context, files, Mode.COUNT, (seed,), root, words, memory, timeout) as (source, runs):
        if as_json:
            output.data(cuda_output.as_data(source, runs))
        else:
            cuda_output.traffic(source, runs[0])
    if runs[0].failed:
        raise typer.Exit(1)


@contextmanager
def _ran(
    context: typer.Context, files: Sequence[Path], mode: "Mode", seeds: Sequence[int], root: Path | None,
    words: dict[str, Any], memory: int, timeout: float,
) -> "Iterator[tuple[ProgramSource, list[ProgramRun]]]":  # fmt: skip
    """The program built, and run once for each seed; a program that cannot be ends the command with code 2."""
    from harness.cuda.program import ProgramLimits, ProgramSource, build_program, run_program
    from harness.sandbox import detect, scratch

    tier, source, limits = detect(), ProgramSource.of(files, root), ProgramLimits(timeout, memory)
    with scratch.folder() as place:
        built = build_program(source, place, tier=tier, **words)
        if built.path is None:
            _say_lacking(built.unsupported)
            output.note(built.errors or "nothing was run, so the program is not at fault")
            raise typer.Exit(2)
        runs: list[ProgramRun] = []
        for seed in seeds:
            ran = run_program(
                source, built.path, context.meta[_ARGUMENTS], tier=tier, mode=mode, seed=seed, limits=limits
            )
            runs.append(ran)
        yield source, runs
    lacking = dict.fromkeys(lack for run in runs if run.report for lack in run.report.unsupported)
    if lacking:
        _say_lacking(lacking)
        raise typer.Exit(2)


def _words(defines: Sequence[str] | None, includes: Sequence[Path] | None, standard: str) -> dict[str, Any]:
    """What the compiler is asked for beside the files, as `build_program` takes it."""
    from harness.cuda.flags import STANDARDS

    if standard not in STANDARDS:
        raise typer.BadParameter(f"--std {standard}: give one of {', '.join(sorted(STANDARDS))}")
    missing = next((folder for folder in includes or () if not folder.is_dir()), None)
    if missing is not None:
        raise typer.BadParameter(f"-I {missing}: is no folder")
    named = {name: value if equals else "1" for name, equals, value in (d.partition("=") for d in defines or ())}
    return {"defines": named, "includes": list(includes or ()), "standard": standard}


def _say_lacking(lacking: "Iterable[build.UnsupportedConstruct | report.UnsupportedFeature]") -> None:
    for lack in lacking:
        where = f"{lack.file}:{lack.line}: " if lack.file else ""
        output.note(f"{where}unsupported on the emulated device: {lack.what}")
