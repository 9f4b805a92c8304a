"""Imports run one way: a room of the package imports only rooms listed before it."""

import ast
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import harness

ROOMS = (
    "errors", "interpreter", "bounded_http", "chat", "model", "workspace", "numerics", "sandbox", "timing", "cuda",
    "source", "mutation/operators", "mutation/planting", "languages", "probing", "mutation", "quality",
    "review", "scoring", "store", "grading", "executors", "audit",
    "replies", "importing", "asking", "serving", "report", "api", "integrations", "cli",
)  # fmt: skip
"""In their order. Two folders of `mutation` come before languages, which plant by them; the rest tries mutants."""
FOLDERS = {
    "model": ("challenges", "evidence", "submissions", "reviews"),
    "sandbox": ("inside", "accounting", "confinement", "session", "self_test"),
    "source": ("syntax", "c", "python"),
    "probing": ("requirements", "submissions", "challenge_code", "evidence"),
    "mutation": ("operators", "planting", "checks", "trials"),
    "report": (
        "escape",
        "formatting",
        "document",
        "jinja",
        "views",
        "figures",
        "formats",
        "exports",
        "documents",
        "writers",
        "results",
        "pages",
    ),
    "cli": ("check", "cuda", "workspace", "results", "grading"),
}
"""Folders and modules within a room, in their order."""
FAR_SIDE = {
    "sandbox/inside": {"numpy"},
    "cuda/inside": {"numpy", "cupy", "torch"},
    "quality/inside": {"numpy", "pytest"},
}
"""Folders of code that runs in the box, and what each may import besides the standard library."""
PACKAGE = Path(harness.__file__).parent


def room_named(parts: Sequence[str]) -> str:
    """The room of a module, by the parts of its name below the package."""
    inner = "/".join(parts[:2])
    return inner if inner in ROOMS else parts[0]


def room_of(path: Path) -> str:
    return room_named(path.relative_to(PACKAGE).with_suffix("").parts)


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
    return {(room_named(name.split(".")[1:]), line) for name, line in imports_of(path) if name.startswith("harness.")}


def folders_imported(path: Path, room: str) -> set[str]:
    """Which parts of a room a module imports."""
    return {name.split(".")[2] for name, _ in imports_of(path) if name.startswith(f"harness.{room}.")}


def sources() -> list[Path]:
    return [p for p in sorted(PACKAGE.rglob("*.py")) if room_of(p) not in ("__init__", "__main__")]


def test_every_room_is_known_and_listed_in_this_order() -> None:
    assert {room_of(p) for p in sources()} <= set(ROOMS)
    table = (PACKAGE.parent / "docs" / "architecture.md").read_text("utf-8").partition("Outside the package")[0]
    named = [re.findall(r"`([\w/.]+)`", line.split("|")[1]) for line in table.splitlines() if line.startswith("| `")]
    assert [name.removesuffix(".py").rstrip("/") for names in named for name in names] == [*ROOMS]


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
@pytest.mark.parametrize("room", FOLDERS)
def test_inside_a_room_imports_run_one_way_too(room: str) -> None:
    order, seen = FOLDERS[room], set()
    for path in (PACKAGE / room).rglob("*.py"):
        here = path.relative_to(PACKAGE / room).parts[0].removesuffix(".py")
        if here in order:
            seen.add(here)
            assert not folders_imported(path, room) & {*order[order.index(here) + 1 :]}, path
    assert seen == {*order}
    assert {path.parent.name for path in (PACKAGE / room).glob("*/__init__.py")} <= {*order}


@pytest.mark.every_run
def test_what_authors_of_challenges_import_knows_nothing_of_evidence() -> None:
    for path in (PACKAGE / "probing").glob("*.py"):
        assert "evidence" not in folders_imported(path, "probing"), path


@pytest.mark.every_run
def test_challenges_import_only_what_authors_are_offered() -> None:
    """Names of `model`, `numerics`, `probing` and its modules."""
    offered = re.compile(r"harness\.(numerics(\.\w+)?|model|probing(\.\w+)?)")
    for path in (*(PACKAGE.parent / "challenges").rglob("*.py"), *(PACKAGE.parent / "references").rglob("*.py")):
        modules = {
            node.module or "" for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)
        }
        for module in modules:
            assert not module.startswith("harness") or offered.fullmatch(module), f"{path}: {module}"
