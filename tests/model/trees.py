"""Anything that JSON or TOML can hold, drawn by hypothesis, and small changes to what is right."""

import datetime
import json
import math
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

WORDS = ("", "kv_cache", "answer.py", "../x.py", "python", "cuda", "NaN", "Infinity", "major", "passed", "2026-04-22")
"""Strings that mean something to some field."""

texts = st.text(max_size=12) | st.sampled_from(WORDS)
numbers = st.integers(-(2**70), 2**70) | st.sampled_from([0, 1, 2**63, 10**400]) | st.floats()
leaves = st.none() | st.booleans() | numbers | texts
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)
"""What `json.loads` may return."""


def places(tree: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything inside a tree, the tree itself left out."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield (*at, key)
        yield from places(value, (*at, key))


@st.composite
def changed(draw: st.DrawFn, right: dict[str, Any]) -> dict[str, Any]:
    """A copy of `right` in which up to three things are replaced, removed or added."""
    tree: dict[str, Any] = json.loads(json.dumps(right))
    for _ in range(draw(st.integers(0, 3))):
        *path, last = draw(st.sampled_from(sorted(places(tree), key=repr) or [("",)]))
        parent: Any = tree
        for key in path:
            parent = parent[key]
        match draw(st.sampled_from(["replace", "remove", "add"])):
            case "replace":
                parent[last] = draw(trees)
            case "remove":
                parent.pop(last, None) if isinstance(parent, dict) else parent.pop(last)
            case "add" if isinstance(parent, dict):
                parent[draw(texts)] = draw(trees)
            case "add":
                parent.append(draw(trees))
    return tree


def toml(value: Any) -> str:
    """A value in TOML, all tables inline; what TOML has no word for becomes a string."""
    match value:
        case bool():
            return "true" if value else "false"
        case float() if not math.isfinite(value):
            return str(value)
        case datetime.date():
            return value.isoformat()
        case int() | float():
            return repr(value)
        case list():
            return f"[{', '.join(map(toml, value))}]"
        case dict():
            return "{" + ", ".join(f"{toml(str(key))} = {toml(item)}" for key, item in value.items()) + "}"
        case _:
            text = str(value).encode(errors="replace").decode()
            return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text) + '"'


def document(table: dict[str, Any]) -> str:
    """A TOML file."""
    return "".join(f"{toml(key)} = {toml(value)}\n" for key, value in table.items())
