"""Runs the commands whose output README.md and the pages beside this file show, and puts what they print in place.

A block is a comment `<!-- output: COMMAND -->`, then a fenced block. The comment may go on with `| first N lines`, and
with `| exits 1` where the command is meant to find something, with `| needs ID` where it runs a published answer:
without that collection here (`harness import collection ID`) the block stays as it is, and with `| takes minutes`.

    python docs/refresh.py            rewrite the blocks
    python docs/refresh.py --check    say which blocks, and which pages of reports/, are not what the committed records
                                      and commands make; write nothing, and run nothing that takes minutes

What a command prints is compared whole but for the seed it drew.
"""

import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
BLOCK = re.compile(
    r"<!-- output: (?P<command>[^|]+?)(?: \| first (?P<lines>\d+) lines)?(?: \| exits (?P<code>1))?"
    r"(?: \| needs (?P<needs>\w+))?(?P<slow> \| takes minutes)? -->\n"
    r"```text\n.*?```\n",
    re.DOTALL,
)
REPLAY = re.compile(r"harness replay (?P<model>\S+)/(?P<challenge>\w+) (?P<criterion>\w+)")
DRAWN = re.compile(r"\(seed \d+\)")
"""What differs between two runs of a command."""


@dataclass(frozen=True)
class Ran:
    """What a command printed."""

    code: int
    out: str
    errors: str


def run(command: str) -> Ran:
    """Run one command line of a page in the checkout, without a shell."""
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "110"}
    env.pop("HARNESS_WORKSPACE", None)
    done = subprocess.run(shlex.split(command), cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


def refreshed(text: str, run: Callable[[str], Ran] = run, *, slow: bool = True) -> tuple[str, list[str]]:
    """Return the text with every block made anew, and the commands that failed, each with its message.

    Args:
        text: of a page.
        run: runs one command line.
        slow: whether to run the commands that take minutes.
    """
    failed = []

    def block(match: re.Match[str]) -> str:
        command, limit, needs = match["command"], match["lines"], match["needs"]
        if (needs and not (ROOT / ".harness" / "collections" / needs).is_dir()) or (match["slow"] and not slow):
            return match[0]
        ran = run(command)
        if ran.code != int(match["code"] or 0) or not ran.out.strip():
            failed.append(f"`{command}` exits {ran.code}: {ran.out.strip()}\n{ran.errors.strip()}")
            return match[0]
        lines = ran.out.replace(str(ROOT) + "/", "").rstrip().splitlines()
        shown = lines[: int(limit)] if limit else lines
        shown += [f"... {len(lines) - len(shown)} more lines"] * (len(lines) > len(shown))
        heading = match[0].partition("\n")[0]
        return f"{heading}\n```text\n$ {command}\n" + "\n".join(shown) + "\n```\n"

    return BLOCK.sub(block, text), failed


def differing(shown: str, made: str) -> list[str]:
    """The blocks of a page that show something else than was printed now, each with its first line that differs."""
    found = []
    for old, new in zip(BLOCK.finditer(shown), BLOCK.finditer(made), strict=True):
        lines = [DRAWN.sub("", block[0]).splitlines() for block in (old, new)]
        first = next((pair for pair in itertools.zip_longest(*lines) if pair[0] != pair[1]), None)
        if first:
            found.append(f"`{old['command']}`: the page shows {first[0]!r}, it prints {first[1]!r}")
    return found


def unrecorded(text: str) -> list[str]:
    """The replays on a page that show another seed than the committed record has, for which no collection is needed."""
    found = []
    for match in BLOCK.finditer(text):
        if not (replay := REPLAY.fullmatch(match["command"])):
            continue
        record = json.loads((ROOT / f"reports/records/{replay['challenge']}/{replay['model']}.json").read_bytes())
        seeds = [str(each["seed"]) for each in record["evidence"] if each["criterion"] == replay["criterion"]]
        if not any(seed in match[0] for seed in seeds):
            found.append(f"`{match['command']}`: the page shows another seed than the record; run docs/refresh.py")
    return found


def stale(reports: Path, rendered: Path) -> list[str]:
    """The Markdown pages of `reports` that are not, byte for byte, what was rendered, or that only one of them has.

    Drawings are left out: they change with the library that draws.
    """
    pages = {path.relative_to(root) for root in (reports, rendered) for path in root.rglob("*.md")}
    return [
        f"reports/{page}: not what `harness report` makes of the records"
        for page in sorted(pages)
        if not _same(reports / page, rendered / page)
    ]


def _same(one: Path, other: Path) -> bool:
    return one.is_file() and other.is_file() and one.read_bytes() == other.read_bytes()


def wrong(pages: Mapping[Path, tuple[str, str]]) -> list[str]:
    """What `--check` finds: blocks and reports that are not what the checkout makes.

    Args:
        pages: by path, the text as it is and the text made anew.
    """
    found = [
        f"{path.name}: {each}"
        for path, (shown, made) in pages.items()
        for each in (*differing(shown, made), *unrecorded(shown))
    ]
    with tempfile.TemporaryDirectory() as folder:
        ran = run(f"harness report --out {shlex.quote(folder)}")
        return [*found, ran.errors] if ran.code else [*found, *stale(ROOT / "reports", Path(folder))]


def main() -> int:
    """Exit code: 0 when every command ran, and with `--check` every page is what it must be."""
    checks = "--check" in sys.argv[1:]
    shown = {path: path.read_text(encoding="utf-8") for path in PAGES}
    made = {path: refreshed(text, slow=not checks) for path, text in shown.items()}
    failures = [message for _, failed in made.values() for message in failed]
    if checks:
        failures += wrong({path: (shown[path], text) for path, (text, _) in made.items()})
    for message in failures:
        print(message, file=sys.stderr)
    for path, (text, failed) in made.items():
        if not failed and not checks:
            path.write_text(text, encoding="utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
