"""Rendering of views into one HTML file, in which everything is escaped and browsers run only our own code."""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache

from jinja2 import Environment
from markupsafe import Markup

from harness.report import escape
from harness.report.views.excerpts import ExcerptLine
from harness.report.writers.render import new_environment

MOST_WIDE = 200
"""Most characters on a line of a block of code or compiler output."""
MOST_LINES = 30


def render(**views: object) -> str:
    """Render the page.

    Raises:
        jinja2.UndefinedError: the template uses a name that its view lacks.
    """
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    page = environment().get_template("index.html.j2")
    return page.render(style=style, script=script, policy=Markup(policy), **views).rstrip() + "\n"


@cache
def environment() -> Environment:
    """Return a template environment that clips and escapes every expression, on one line without control characters."""
    made = new_environment("harness.report.page", escape.html)
    made.filters["block"] = block
    made.filters["code"] = code
    made.filters["bare"] = bare
    return made


def block(text: object) -> Markup:
    """Return escaped lines for `<pre>`, limited in number and width."""
    lines = [line(part) for part in str(text).split("\n")]
    if len(lines) > MOST_LINES:
        lines[MOST_LINES:] = [f"… {len(lines) - MOST_LINES} more lines in the record"]
    return Markup("\n").join(lines)


def code(lines: Sequence[ExcerptLine]) -> Markup:
    """Return numbered lines for `<pre>`, with those at the location marked."""
    shown = (Markup("<i>{:>4} </i>{}").format(each.number, line(each.text)) for each in lines)
    return Markup("\n").join(
        Markup("<b>{}</b>").format(text) if each.meant else text for each, text in zip(lines, shown, strict=True)
    )


def bare(text: object) -> str:
    """Return text without backticks, for attributes and menus, which cannot contain tags."""
    return escape.plain(text).replace("`", "")


def line(text: str) -> str:
    """Return an indented line of code without control or format characters."""
    shown = "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in text.rstrip()).expandtabs(4)
    return shown if len(shown) <= MOST_WIDE else shown[: MOST_WIDE - 1] + "…"


def data(value: object) -> Markup:
    """Return JSON that is safe inside HTML.

    Raises:
        ValueError: the value contains NaN or an infinity.
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _asset(name: str) -> Markup:
    loader = environment().loader
    assert loader is not None
    return Markup(loader.get_source(environment(), name)[0])


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
