"""Imports run one way: a room of the package imports only rooms listed before it."""

import ast
from pathlib import Path

import pytest

import harness

ROOMS = (
    "errors", "interpreter", "bounded_http", "chat", "bundled_challenges", "model", "stored_files", "signatures",
    "submission_folders",
    "workspace", "numerics", "sandbox", "timing", "cuda", "languages", "probing", "quality", "review", "scoring",
    "running", "replies", "importing", "asking", "serving", "report", "api", "integrations", "cli",
)  # fmt: skip
PACKAGE = Path(harness.__file__).parent


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[tuple[str, int]]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            module = node.module or ""
            names = [f"harness.{alias.name}" for alias in node.names] if module == "harness" else [module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {(name.split(".")[1], node.lineno) for name in names if name.startswith("harness.")}
    return found


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
    for folder in ("sandbox/boot", "quality/suite_boot"):
        paths = list((PACKAGE / folder).glob("*.py"))
        assert paths
        for path in paths:
            assert not imported_rooms(path), path
