"""What differs between tiers is asked of the sandbox or of a property of the tier: no other code compares tiers."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import harness
from harness.model import Tier

PACKAGE = Path(harness.__file__).parent
KNOW = {
    "model/tier.py",
    "sandbox/confinement/bubblewrap.py",
    "sandbox/confinement/implementations.py",
    "sandbox/confinement/landlock.py",
    "sandbox/session/tiers.py",
}
NAMES = {tier.value for tier in Tier}


def conditions(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Where a tier decides something: compared, matched, looked up by its name, or asked for a feature it may have."""
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.Compare | ast.MatchValue | ast.Subscript):
            parts = list(ast.walk(node))
        elif isinstance(node, ast.Dict):
            parts = list(node.keys)
        feature = isinstance(node, ast.Attribute) and node.attr in ("namespaces", "fenced")
        if any(map(names_a_tier, parts)) or (feature and "tier" in ast.unparse(node)):
            yield getattr(node, "lineno", 0), ast.unparse(node)


def names_a_tier(node: ast.AST | None) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in Tier.__members__ and ast.unparse(node.value).rpartition(".")[2] == "Tier"
    return isinstance(node, ast.Constant) and node.value in NAMES


@pytest.mark.every_run
def test_no_condition_on_a_tier_stands_outside_its_room() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if str(path.relative_to(PACKAGE)) not in KNOW
        for line, text in conditions(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found


def test_every_kind_of_condition_would_be_found() -> None:
    for source in (
        "if tier is Tier.A: pass",
        "if model.Tier.C == tier: pass",
        "x = 1 if tier in ('A', 'B') else 2",
        "match tier:\n    case Tier.UNSAFE: pass",
        "x = {Tier.A: 1}[tier]",
        "x = table['unsafe']",
        "if box.tier.namespaces: pass",
    ):
        assert list(conditions(ast.parse(source))), source
