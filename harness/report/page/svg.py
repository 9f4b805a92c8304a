"""Drawings by matplotlib as part of a page: without fixed colours, fonts, styles or unused ids."""

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
"""Colours to draw with, and the CSS variables that replace them, for dark and light pages."""
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
    """Draw with matplotlib's defaults, regardless of this machine's settings, and keep text as text."""
    with rc_context():
        rcdefaults()
        rcParams["svg.fonttype"] = "none"
        rcParams["text.parse_math"] = False
        yield


def inlined(figure: Figure, name: str, title: str) -> Markup:
    """Return the figure as an `<svg>` element.

    Args:
        figure: drawn with `COLOURS` only.
        name: unique among the page's drawings; prefix of ids.
        title: text for screen readers.
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
    """Turn styles into attributes, which the page's style may override, and drop unneeded elements."""
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
