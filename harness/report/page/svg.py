"""Drawings by matplotlib made part of a page: no fixed colours or fonts, no styles, no ids but those in use."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from xml.etree import ElementTree as ET

from markupsafe import Markup
from matplotlib import rc_context, rcdefaults, rcParams
from matplotlib.figure import Figure

COLOURS = {
    "#000001": "var(--ink)",
    "#000002": "var(--muted)",
    "#000003": "var(--line)",
    "#000004": "var(--bad)",
} | {f"#0001{n:02d}": f"var(--series-{n})" for n in range(8)}
"""Colours to draw with, and what the page puts in their place, so that dark and light pages both get their own."""
INK, MUTED, LINE, BAD = list(COLOURS)[:4]
SERIES = tuple(list(COLOURS)[4:])

_KEPT = (
    "fill",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "stroke-linecap",
    "opacity",
    "fill-opacity",
    "font-size",
    "font-weight",
    "text-anchor",
)
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_LINK = "{http://www.w3.org/1999/xlink}href"


@contextmanager
def reproducible() -> Iterator[None]:
    """Draw by matplotlib's own defaults, whatever settings this machine has, and let all text be text."""
    with rc_context():
        rcdefaults()
        rcParams["svg.fonttype"] = "none"
        rcParams["text.parse_math"] = False
        yield


def inlined(figure: Figure, name: str, title: str) -> Markup:
    """The figure as an `<svg>` element.

    Args:
        figure: drawn with `COLOURS` only.
        name: unlike that of any other drawing on the page; ids begin with it.
        title: what a reader hears who does not see it.
    """
    out = io.StringIO()
    with rc_context({"svg.hashsalt": name}):
        figure.savefig(out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    root = ET.fromstring(out.getvalue())
    used = set(re.findall(r'href="#([\w-]+)', out.getvalue()))
    _plain(root, used, name)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": title}
    return Markup(ET.tostring(root, encoding="unicode"))


def _plain(element: ET.Element, used: set[str], name: str) -> None:
    """Turn styles into attributes that the page's own style may override, and drop what it does not need."""
    for child in list(element):
        _plain(child, used, name)
        if child.tag in ("metadata", "style", "clipPath") or (child.tag in ("g", "defs") and not len(child)):
            element.remove(child)
    element.tag = element.tag.rpartition("}")[2]
    element.tail = None
    element.text = element.text.strip() or None if element.text else None
    given = element.attrib
    given.pop("clip-path", None)  # nothing is drawn outside its axes
    style = dict(part.split(": ", 1) for part in given.pop("style", "").split("; ") if part)
    given |= {key: COLOURS.get(value, value) for key, value in style.items() if key in _KEPT}
    if _LINK in given:
        given["href"] = f"#{name}-{given.pop(_LINK)[1:]}"
    if "id" in given:
        own = given.pop("id")
        given |= {"id": f"{name}-{own}"} if own in used else {}
    if "d" in given:
        given["d"] = " ".join(given["d"].split())
    for key in given.keys() & {"d", "x", "y", "transform", "points"}:
        given[key] = _NUMBER.sub(lambda number: f"{float(number[0]):.2f}", given[key])
    if given.get("transform", "").startswith("rotate(-0 "):
        del given["transform"]
