"""Imports run one way: a room of the package imports only rooms listed before it."""

import ast
import sys
from pathlib import Path

import pytest

import harness

ROOMS = (
    "errors", "interpreter", "bounded_http", "chat", "bundled_challenges", "model", "stored_files", "signatures",
    "submission_folders",
    "workspace", "numerics", "sandbox", "timing", "cuda", "languages", "probing", "quality", "review", "scoring",
    "store", "grading", "executors", "audit",
    "replies", "importing", "asking", "serving", "report", "api", "integrations", "cli",
)  # fmt: skip
SANDBOX_ROOMS = ("inside", "accounting", "confinement", "session", "self_test")
FAR_SIDE = {
    "sandbox/inside": {"numpy"},
    "cuda/inside": {"numpy", "cupy", "torch"},
    "quality/inside": {"numpy", "pytest"},
}
"""Folders of code that runs in the box, and what each may import besides the standard library."""
PACKAGE = Path(harness.__file__).parent


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[tuple[str, int]]:
    """Whatever a module imports, by its whole name, with the line."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            found |= {(f"{node.module}.{alias.name}", node.lineno) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {(alias.name, node.lineno) for alias in node.names}
    return found


def imported_rooms(path: Path) -> set[tuple[str, int]]:
    return {(name.split(".")[1], line) for name, line in imports_of(path) if name.startswith("harness.")}


def rooms_of_the_sandbox(path: Path) -> set[str]:
    return {name.split(".")[2] for name, _ in imports_of(path) if name.startswith("harness.sandbox.")}


def sources() -> list[Path]:
    return [p for p in sorted(PACKAGE.rglob("*.py")) if room_of(p) not in ("__init__", "__main__")]


def test_every_room_is_known() -> None:
    assert {room_of(p) for p in sources()} <= set(ROOMS)


@pytest.mark.every_run
def test_no_room_imports_a_later_one() -> None:
    upward = [
        f"{path.relative_to(PACKAGE)}:{line} imports {room}"
        for path in sources()
        for room, line in imported_rooms(path)
        if room in ROOMS and ROOMS.index(room) > ROOMS.index(room_of(path))
    ]
    assert not upward


def test_what_runs_in_the_box_imports_nothing_of_the_harness() -> None:
    assert {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("inside") if path.is_dir()} == FAR_SIDE.keys()
    own = {path.stem for path in PACKAGE.rglob("inside/*.py")}
    for folder, further in FAR_SIDE.items():
        for path in (PACKAGE / folder).glob("*.py"):
            packages = {name.split(".")[0] for name, _ in imports_of(path)}
            assert packages <= {*sys.stdlib_module_names, *own, *further}, path


@pytest.mark.every_run
def test_inside_the_sandbox_imports_run_one_way_too() -> None:
    for path in (PACKAGE / "sandbox").rglob("*.py"):
        here = path.relative_to(PACKAGE / "sandbox").parts[0].removesuffix(".py")
        if here != "__init__":
            assert not rooms_of_the_sandbox(path) & {*SANDBOX_ROOMS[SANDBOX_ROOMS.index(here) + 1 :]}, path
