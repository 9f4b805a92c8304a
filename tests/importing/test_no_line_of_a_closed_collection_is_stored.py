"""Of a collection that may not be passed on, no line of 30 characters or more is in this repository."""

import html
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.importing.line_hashes import FILE, as_text, from_text, hashes_of, line_hash, normalise
from harness.workspace import Workspace
from tests.reconstructed import ANSWERS

CHECKOUT = Path(__file__).parents[2]
WORKSPACE = Workspace(CHECKOUT)
CLOSED = [id for id in WORKSPACE.collections() if not WORKSPACE.collection(id).redistribute]
SKIPPED = frozenset({".git", ".venv", ".harness", "dist", "__pycache__"})
RECONSTRUCTED = (ANSWERS,)
"""Written for this project, as tests."""
ANYBODYS = re.compile(
    r"self\.(\w+) = \1|from [\w.]+ import [\w, ]+|#include \S+|//\s*=+|\w+ = np\.random\.default_rng\(\w+\)"
    r"|def memory_bytes\(self\) -> int:|mean = x\.mean\(axis=-1, keepdims=True\)|int main\(int argc, char\*\* argv\) \{"
    r"|for _ in range\(max_new_tokens\):|for [ij] in range\(0, N, tile_size\):"
    r"|[qk]_end = min\([qk]_start \+ tile_size, N\)|mask = np\.zeros\(\(total, total\), dtype=bool\)"
    r"|scores = scores - scores\.max\(axis=-1, keepdims=True\)|mu = x\.mean\(-1, keepdims=True\)"
    r"|var = (np\.var\(x, axis=|x\.var\()-1, keepdims=True\)"
)
"""Lines that come about without having been copied."""


def stored_files() -> Iterator[Path]:
    for folder, folders, names in os.walk(CHECKOUT):
        folders[:] = [f for f in folders if f not in SKIPPED and not f.endswith((".egg-info", "_cache"))]
        places = [Path(folder, name) for name in names]
        yield from (p for p in places if p.is_file() and not any(p.is_relative_to(r) for r in RECONSTRUCTED))


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def pieces(path: Path) -> Iterator[str]:
    """The lines of a file, what a sentence or a page sets apart in them, and the lines of strings in JSON."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".json":
        text += "\n" + "\n".join(strings(json.loads(text)))
    for line in text.splitlines():
        yield line
        if "`" in line or "<" in line or "|" in line:
            yield from (html.unescape(part) for part in re.split(r"`+|<[^>]*>|\|", line))


@pytest.mark.parametrize("id", CLOSED)
@pytest.mark.every_run
def test_no_file_of_the_repository_holds_one(id: str) -> None:
    theirs = from_text((WORKSPACE.collection_folder(id) / FILE).read_text())
    known = {
        normalise(piece)
        for folder in RECONSTRUCTED
        for path in folder.rglob("*.*")
        if path.is_file()
        for piece in pieces(path)
    }
    found = {
        f"{path.relative_to(CHECKOUT)}: {normalise(piece)}"
        for path in stored_files()
        for piece in pieces(path)
        if line_hash(piece) in theirs
        if not ANYBODYS.fullmatch(normalise(piece)) and normalise(piece) not in known
    }
    assert not found


@pytest.mark.parametrize("id", CLOSED)
def test_the_hashes_are_those_of_lines(id: str) -> None:
    # each of these answers is hundreds of lines long, and some begin as most Python modules do
    theirs = from_text((WORKSPACE.collection_folder(id) / FILE).read_text())
    assert len(theirs) > 100 * len(WORKSPACE.collection(id).answers)
    assert line_hash("from __future__ import annotations") in theirs


def test_a_copied_line_is_noticed_however_it_is_indented_or_quoted(tmp_path: Path) -> None:
    line = "total = sum(weights[row] * values[row] for row in rows)"
    theirs = from_text(as_text(hashes_of([f"x = 1\n\t{line}  \n"])))
    assert len(theirs) == 1
    stored = {
        "a.py": f"def f():\n        {line.replace(' ', '  ')}\r\n", "b.md": f"It says `{line}` there.\n",
        "c.json": json.dumps({"detail": [f"line 3\n  {line}\nends"]}), "d.html": f"<td><code>{line}</code></td>\n",
    }  # fmt: skip
    for name, text in stored.items():
        (tmp_path / name).write_text(text)
        assert any(line_hash(piece) in theirs for piece in pieces(tmp_path / name)), name
    (tmp_path / "e.py").write_text("total = sum(weights[row] * values[row] for row in order)\n")
    assert not any(line_hash(piece) in theirs for piece in pieces(tmp_path / "e.py"))
