"""Runs the commands whose output README.md and the pages beside this file show, and puts what they print in place.

A block is a comment `<!-- output: COMMAND -->`, then a fenced block. The comment may go on with `| first N lines`, and
with `| exits 1` where the command is meant to find something.

    python docs/refresh.py            rewrite the blocks
    python docs/refresh.py --check    run the commands and say which fail; write nothing
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
BLOCK = re.compile(
    r"<!-- output: (?P<command>[^|]+?)(?: \| first (?P<lines>\d+) lines)?(?: \| exits (?P<code>1))? -->\n"
    r"```text\n.*?```\n",
    re.DOTALL,
)


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


def refreshed(text: str, run: Callable[[str], Ran] = run) -> tuple[str, list[str]]:
    """The text with every block made anew, and the commands that failed, each with its message.

    Args:
        text: of a page.
        run: runs one command line.
    """
    failed = []

    def block(match: re.Match[str]) -> str:
        command, limit = match["command"], match["lines"]
        ran = run(command)
        if ran.code != int(match["code"] or 0) or not ran.out.strip():
            failed.append(f"`{command}` exits {ran.code}: {ran.errors.strip()}")
            return match[0]
        lines = ran.out.replace(str(ROOT) + "/", "").rstrip().splitlines()
        shown = lines[: int(limit)] if limit else lines
        shown += [f"... {len(lines) - len(shown)} more lines"] * (len(lines) > len(shown))
        heading = match[0].partition("\n")[0]
        return f"{heading}\n```text\n$ {command}\n" + "\n".join(shown) + "\n```\n"

    return BLOCK.sub(block, text), failed


def main() -> int:
    """Exit code: 0 when every command ran."""
    pages = {path: refreshed(path.read_text(encoding="utf-8")) for path in PAGES}
    failures = [message for _, failed in pages.values() for message in failed]
    for message in failures:
        print(message, file=sys.stderr)
    for path, (text, failed) in pages.items():
        if not failed and "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
