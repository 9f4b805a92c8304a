"""The `harness` command: assembles the subcommands and maps errors to messages and exit codes."""

import gc
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

import harness
from harness.cli import variables
from harness.cli.check import command as check
from harness.cli.cuda import commands as cuda
from harness.cli.grading import ask, audit, grade, replay, review, serve, tried
from harness.cli.results import compare, diff, export, report, scoreboard, show, sign
from harness.cli.workspace import attempt, cache, collection, doctor, importing, init, ls, new, prompt, rm
from harness.errors import HarnessError, JudgeError, NotFoundError, PrerequisiteError, StoreError
from harness.grading.linear_algebra import compute_in_one_thread
from harness.grading.process_hardening import make_undumpable

if TYPE_CHECKING:
    from typer._click.core import Command

HELP = """Grade model-generated ML kernels by running them.

Every mark can be traced to a probe that ran, its seed, its figures and the smallest counterexample.

\b
First steps:
  harness doctor                 what this machine offers
  harness grade --all            grade every submission under submissions/
  harness show MODEL/CHALLENGE   one grade with its findings
  harness report                 write reports/ from the records
"""

EPILOG = """\b
Exit codes:
  0    done, whatever the marks
  1    a gate failed: --fail-under, --fail-on-regression, a wrong verdict of `check`, a `replay` or an `audit` with
       another result
  2    usage error: unknown name, malformed challenge or submission (all others were graded)
  3    the harness failed (judge error); this counts against no answer
  130  interrupted; finished grades are kept

\b
Every option can be set by a variable: HARNESS_GRADE_FAIL_UNDER=60 stands for `harness grade --fail-under 60`.
"""

app = typer.Typer(
    name="harness",
    help=HELP,
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich's help takes as long to import as all the rest together
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(grade.grade)
app.command("try")(tried.try_replies)
app.command()(report.report)
app.command()(scoreboard.scoreboard)
app.command()(show.show)
app.command()(compare.compare)
app.command()(diff.diff)
app.command()(replay.replay)
app.command()(review.review)
app.command()(ask.ask)
app.command()(attempt.attempt)
app.command()(check.check)
app.command()(export.export)
app.command()(init.init)
app.command()(rm.rm)
app.command()(prompt.prompt)
app.add_typer(cuda.app, name="cuda")
app.add_typer(cache.app, name="cache")
app.add_typer(new.app, name="new")
app.add_typer(importing.app, name="import")
app.add_typer(collection.app, name="collection")
app.command()(ls.ls)
app.command()(doctor.doctor)
app.add_typer(serve.app, name="serve")
app.command()(audit.audit)
app.command()(sign.sign)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"harness {harness.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; allowed anywhere on the line.")
    ] = False,
) -> None:
    """What holds for every command; `--debug` is read by `main`."""


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        from harness.cli import output

        output.note(record.getMessage())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code.

    Args:
        arguments: words after `harness`; by default this process's.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given or variables.is_on("HARNESS_DEBUG")
    notes = _Notes(logging.WARNING)
    logging.getLogger("harness").addHandler(notes)
    words = [a for a in given if a != "--debug"]
    try:
        code = _build_command()(words, prog_name="harness", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except typer.Abort:  # Ctrl-C or end of input at a question
        return _fail("interrupted; nothing was changed", 130, debug)
    except (typer.TyperException, NotFoundError) as error:
        return _refuse(error, words, debug)
    except HarnessError as error:
        return _fail(str(error), 3 if isinstance(error, (JudgeError, PrerequisiteError, StoreError)) else 2, debug)
    except Exception as error:
        return _fail(f"the harness itself failed: {type(error).__name__}: {error}", 3, debug)
    finally:
        logging.getLogger("harness").removeHandler(notes)
        _flush()


def _build_command() -> "Command":
    command = typer.main.get_command(app)
    variables.name_variables(command)
    return command


def _refuse(error: typer.TyperException | NotFoundError, words: Sequence[str], debug: bool) -> int:
    from typer._click.exceptions import ClickException, NoArgsIsHelpError

    from harness.cli import usage

    if isinstance(error, NoArgsIsHelpError):
        error.show()
        return error.exit_code
    if not isinstance(error, (ClickException, NotFoundError)):
        raise error
    return _fail(usage.describe_usage_error(error, _build_command(), words), 2, debug)


def _fail(message: str, code: int, debug: bool) -> int:
    from harness.cli import output

    if debug:
        traceback.print_exc()
    output.note(f"error: {message}")
    if code == 3 and not debug:
        output.note("  run the same command with --debug to see the traceback")
    return code


def _flush() -> None:
    """Flush the output; a closed pipe (`| head`) is not an error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run() -> None:
    """Run as the `harness` script."""
    make_undumpable()
    compute_in_one_thread()
    # thousands of long-lived records would double the time spent in garbage collection
    gc.set_threshold(200_000, 50, 100)
    sys.exit(main())
