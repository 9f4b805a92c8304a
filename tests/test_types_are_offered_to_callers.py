"""A program that imports the package is checked against its types, installed or not."""

import subprocess
import sys
from pathlib import Path

import harness

PROGRAM = """import harness
from harness import Record

record: Record = harness.grade("folder")
reward: float | None = record.reward
wrong: int = harness.grade("folder")
"""


def test_mypy_reads_the_types_of_the_package(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(PROGRAM)
    words = (sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "--follow-imports", "silent")
    checked = subprocess.run([*words, "caller.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = [line for line in checked.stdout.splitlines() if ": error: " in line]
    assert [line.partition(":")[2].split(":")[0] for line in lines] == ["6"], checked.stdout + checked.stderr
    assert "Record" in lines[0]


def test_the_marker_is_a_part_of_the_package() -> None:
    assert (Path(harness.__file__).parent / "py.typed").is_file()
