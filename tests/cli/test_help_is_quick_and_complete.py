"""`harness --help` imports nothing heavy, and every command and option explains itself."""

import itertools
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_runs import Run

from tests.commands import command, environment

HEAVY = ("numpy", "pydantic", "pandas", "matplotlib", "scipy", "jinja2", "rich", "filelock")
COMMANDS = (
    "grade", "try", "report", "scoreboard", "show", "compare", "diff", "replay", "review", "check", "cuda",
    "cuda check", "cuda count", "export", "rm", "cache", "cache prune", "ls", "doctor", "init", "prompt", "ask",
    "attempt", "new", "new challenge", "new submission", "new model", "import",
    "import collection", "import reply", "collection",
    "collection verify", "audit", "sign", "cache records",
    "serve", "serve token", "serve token add", "serve token ls", "serve token rm",
)  # fmt: skip


@pytest.mark.parametrize("line", ["--help", "--version"])
def test_nothing_heavy_is_imported(line: str) -> None:
    program = (
        "import sys\nfrom harness.cli.main import main\n"
        f"code = main({line.split()!r})\n"
        f"heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "sys.exit(f'imported: {heavy}' if heavy or code else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_the_package_is_cheap() -> None:
    program = f"import sys, harness\nsys.exit(any(name in sys.modules for name in {HEAVY!r}))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.alone
def test_help_takes_at_most_twice_as_long_as_importing_typer() -> None:
    # the promised bound; the medians of interleaved runs, so that a busy moment slows both
    script = Path(sys.executable).with_name("harness")
    lines = {"help": [str(script), "--help"], "typer": [sys.executable, "-c", "import typer"]}
    took: dict[str, list[float]] = {name: [] for name in lines}
    for _ in range(9):
        for name, line in lines.items():
            start = time.perf_counter()
            subprocess.run(line, capture_output=True, check=True)
            took[name].append(time.perf_counter() - start)
    assert statistics.median(took["help"]) <= 2 * statistics.median(took["typer"])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_has_help(run: Run, name: str) -> None:
    long, short = run(*name.split(), "--help"), run(*name.split(), "-h")
    assert long.returncode == short.returncode == 0
    assert long.stdout == short.stdout
    usage, _, rest = long.stdout.partition("\n\n")
    assert usage.startswith(f"Usage: harness {name}")
    assert rest.splitlines()[0].strip().endswith(".")
    options = rest.partition("Options:\n")[2].partition("\n\n")[0].splitlines()
    for line, below in itertools.pairwise([*options, ""]):
        explained = len(re.split(r"\s{2,}", line.strip())) > 1 or below.startswith(" " * 10)
        assert explained or not line.startswith("  -"), line


def test_the_list_of_commands_is_whole(run: Run) -> None:
    shown = run("--help").stdout.partition("Commands:\n")[2].partition("\n\n")[0]
    assert {line.split()[0] for line in shown.splitlines()} == {name.split()[0] for name in COMMANDS}
    assert "..." not in shown


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_names_complete(root: Path, shell: str) -> None:
    variables = {"_HARNESS_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "harness check ro"}
    typed = {"COMP_WORDS": "harness check ro", "COMP_CWORD": "2", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = subprocess.run(
        [str(Path(sys.executable).with_name("harness"))], capture_output=True, text=True, check=False,
        env=environment(root) | variables | typed,
    )  # fmt: skip
    assert "rows" in done.stdout


def test_the_command_line_starts_from_any_folder(tmp_path: Path) -> None:
    done = subprocess.run(command("--version"), capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.startswith("harness 0.")
