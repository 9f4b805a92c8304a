"""`harness compare`: two models side by side."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import complete
from harness.cli.results.formats import FormatOption, print_result

if TYPE_CHECKING:
    from harness.report.views.comparison import ModelComparison
    from harness.workspace import Workspace

Name = Annotated[
    str, typer.Argument(metavar="MODEL", help="Model name, or MODEL/CHALLENGE.", autocompletion=complete.submissions)
]


def compare(
    first: Name,
    second: Name,
    challenge: Annotated[
        str | None,
        typer.Option("--challenge", "-c", help="Compare on this challenge only.", autocompletion=complete.challenges),
    ] = None,
    format: FormatOption = "table",
) -> None:
    """Compare two models by their criteria.

    For each challenge that both models answered, prints marks with intervals, the winner on the criteria both were
    assessed on, the criteria where they differ, and those that both fail. Reads records only; grades nothing.

    \b
    harness compare glm-5 qwen3.6-27b
    harness compare glm-5 qwen3.6-27b -c kv_cache --format md
    """
    from harness.report.results import comparison_result
    from harness.workspace import Workspace

    print_result(comparison_result(_compare(Workspace.find(), first, second, challenge)), format)


def _compare(workspace: "Workspace", first: str, second: str, challenge: str | None) -> "ModelComparison":
    from harness.errors import NotFoundError
    from harness.report.views.comparison import compare
    from harness.store.record_store import Store

    left, right = (name.partition("/")[0] for name in (first, second))
    only = _pick_challenge([*(name.partition("/")[2] for name in (first, second)), challenge or ""])
    if left == right:
        raise typer.BadParameter(f"{left!r} is given twice: name two models\n  try: harness ls models")
    answered = _list_answered(workspace, (left, right))
    rubrics = [workspace.challenge(only)] if only else [workspace.challenge(id) for id in workspace.challenges()]
    known = {c.id for c in rubrics}
    wanted = [name for name in workspace.list_recorded() if name.model in (left, right) and name.challenge in known]
    published = Store(workspace).published
    read = published.read_many(map(str, wanted))
    compared = compare(rubrics, read, left, right, {record.name: published.doubts(record) for record in read})
    if not compared.challenges:
        records = "; ".join(f"{model} on {', '.join(answered[model])}" for model in (left, right))
        what = f"no records of both on {only}" if only else "no challenge that both have a record on"
        raise NotFoundError(f"{what}: {records}\n  try: harness grade {left} {right}")
    return compared


def _pick_challenge(named: Sequence[str]) -> str:
    ids = list(dict.fromkeys(id for id in named if id))
    if len(ids) > 1:
        raise typer.BadParameter(
            f"name one challenge, not {' and '.join(ids)}: answers to different tasks do not compare"
        )
    return ids[0] if ids else ""


def _list_answered(workspace: "Workspace", models: Sequence[str]) -> dict[str, list[str]]:
    from harness.errors import NotFoundError, nearest

    answered: dict[str, list[str]] = {}
    for name in workspace.list_recorded():
        if name.challenge not in answered.setdefault(name.model, []):
            answered[name.model].append(name.challenge)
    if not answered:
        raise NotFoundError("no records yet\n  try: harness grade --all")
    for model in models:
        if model not in answered:
            hint = "try: harness ls models" if len(answered) > 1 else f"only {next(iter(answered))} has records"
            raise NotFoundError(f"no record of a model {model!r}{nearest(model, answered)}\n  {hint}")
    return answered
