"""All reports on one page, `index.html`, which opens from disk, loads nothing else and runs only its own script."""

import base64
import hashlib
import json
from dataclasses import fields, replace

from markupsafe import Markup

from harness.report import formatting
from harness.report.documents.index import compared_data, index_parts
from harness.report.jinja import asset, render
from harness.report.views.answers import answers
from harness.report.views.board.scoreboard import Scoreboard, scoreboard
from harness.report.views.inputs import ReportInputs
from harness.report.writers import html


def page(inputs: ReportInputs, board: Scoreboard | None = None) -> str:
    """Return the page; equal inputs give equal bytes.

    Args:
        inputs: of two records of one submission the last one counts, and the others can be compared with it.
        board: scoreboard of the measured marks, if already built.
    """
    board = board or scoreboard(inputs)
    known = {c.id for c in inputs.challenges}
    last = {r.name: r for r in inputs.records if r.challenge in known}
    records = sorted(last.values(), key=lambda r: (r.challenge, r.submission_name.order))
    answered = answers(records)
    parts = index_parts(inputs, board, records)
    written = html.Pages(block for part in fields(parts) for block in getattr(parts, part.name))
    others = [r for r in inputs.records if r.challenge in known and last[r.name] is not r]
    further = replace(inputs, earlier=(*inputs.earlier, *others))
    compared = compared_data(further, answered, [row.standing.model for row in board.rows])
    style, script = asset("page.css"), asset("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    return render(
        "index.html.j2",
        policy=Markup(policy),
        style=style,
        script=script,
        title=html.bare(inputs.title),
        parts={part.name: written.every(getattr(parts, part.name)) for part in fields(parts)},
        provenances=[formatting.provenance(p) for p in sorted({r.provenance for r in records})],
        columns=[(c.id, html.bare(c.title)) for c in board.challenges],
        compared={html.bare(model): list(map(html.bare, names)) for model, names in compared["names"].items()},
        several=any(len(names) > 1 for names in compared["names"].values()),
        attempts=any(answer.attempts for answer in answered),
        data=data(compared),
    )


def data(value: object) -> Markup:
    """Return JSON that is safe inside HTML.

    Raises:
        ValueError: the value contains NaN or an infinity.
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
