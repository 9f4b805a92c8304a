"""Imports within `harness/cuda` run one way: a folder imports only folders listed before it."""

import ast
from pathlib import Path

import pytest

import harness.cuda

FOLDERS = ("compilers", "check", "rewriting", "emulator", "gpu", "repair", "programs")
REWRITING = ("text", "steps")
"""Folders below the rest of `rewriting`, in their order."""
PACKAGE = Path(harness.cuda.__file__).parent
NAME = "harness.cuda."


def imported(path: Path) -> list[str]:
    """What a module imports of this package, without the package's name."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return [name.removeprefix(NAME) for name in names if name.startswith(NAME)]


def test_every_folder_with_modules_is_known() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_folder_imports_a_later_one(folder: str) -> None:
    later = FOLDERS[FOLDERS.index(folder) + 1 :]
    paths = sorted((PACKAGE / folder).rglob("*.py"))
    assert paths
    assert [f"{path}: {name}" for path in paths for name in imported(path) if name.split(".")[0] in later] == []


@pytest.mark.parametrize("folder", REWRITING)
def test_no_part_of_rewriting_imports_a_later_one(folder: str) -> None:
    allowed = tuple(f"rewriting.{name}." for name in REWRITING[: REWRITING.index(folder) + 1])
    paths = sorted((PACKAGE / "rewriting" / folder).glob("*.py"))
    assert paths
    assert [f"{path}: {name}" for path in paths for name in imported(path) if not name.startswith(allowed)] == []


def test_what_runs_in_the_box_imports_nothing_of_the_harness() -> None:
    paths = sorted((PACKAGE / "inside").glob("*.py"))
    assert paths
    assert all("from harness" not in text and "import harness" not in text for text in (p.read_text() for p in paths))
