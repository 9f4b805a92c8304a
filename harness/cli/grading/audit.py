"""`harness audit`: grade a sample of someone's board again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import output

if TYPE_CHECKING:
    from harness.audit.board import Board
    from harness.audit.regrading import AuditedRecord
    from harness.model.submissions.name import SubmissionName
    from harness.workspace import Workspace
    from harness.workspace.signatures import PublicKey

SHOWN = 12
"""Default sample size in records."""


def audit(
    board: Annotated[
        Path, typer.Argument(metavar="BOARD", help="A workspace, or a folder with records/ and submissions/.")
    ],
    sample: Annotated[int, typer.Option("--sample", metavar="N", min=1, help="How many records to draw.")] = SHOWN,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Draws the sample; drawn itself, and told, where it is left out.")
    ] = None,
    key: Annotated[
        list[str] | None, typer.Option(metavar="FILE|KEY", help="A minisign public key to trust; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Grade a sample of a board again and compare the marks.

    Answers are held to this workspace's challenges on the inputs of their records; nothing of the board's own code but
    the answers is run, and those in the sandbox. Exits with 1 where a mark differs or a record is refused, with 0 where
    all that could be compared came out again, and with 2 where nothing could be compared. What is cut off goes on with
    the same --seed.

    \b
    harness audit ../their-board --sample 20 --seed 7
    """
    import secrets

    from harness.audit.board import Board
    from harness.audit.board import sample as drawn
    from harness.workspace import Workspace

    workspace = Workspace.find()
    found = Board(board, workspace, [_read_key(text) for text in key or ()])
    names = found.names()
    draw = secrets.randbelow(1_000_000) if seed is None else seed
    chosen = drawn(names, sample, draw)
    output.note(f"{len(chosen)} of {len(names)} records, drawn with --seed {draw}")
    results = _run_audit(workspace, found, chosen)
    if as_json:
        from dataclasses import asdict

        output.data({"seed": draw, "records": len(names), "sample": [asdict(one) for one in results]})
    else:
        _print(results)
    raise typer.Exit(_choose_exit_code(results))


def _run_audit(workspace: "Workspace", board: "Board", names: "list[SubmissionName]") -> "list[AuditedRecord]":
    from harness.audit.regrading import audit

    results = []
    with output.ProgressLine(len(names)) as steps:
        for one in audit(workspace, board, names, lambda name, stage: steps.now(str(name), stage)):
            results.append(one)
            steps.done(one.name, f"{one.name}: {one.verdict.value}{' (graded before)' if one.reused else ''}")
    return results


def _choose_exit_code(results: "list[AuditedRecord]") -> int:
    from harness.audit.regrading import AuditVerdict

    verdicts = {one.verdict for one in results}
    if verdicts & {AuditVerdict.DIFFERS, AuditVerdict.REFUSED}:
        return 1
    if AuditVerdict.SAME in verdicts:
        return 0
    output.note("nothing could be compared: this says neither that marks come out again nor that they do not")
    return 2


def _read_key(text: str) -> "PublicKey":
    from harness.workspace.signatures import PublicKey

    return PublicKey.read(Path(text)) if Path(text).is_file() else PublicKey.parse(text, f"--key {text}")


def _print(results: "list[AuditedRecord]") -> None:
    from collections import Counter

    from harness.audit.regrading import AuditVerdict
    from harness.report import formatting

    for one in results:
        marks = f"; overall {formatting.mark(one.overall)}, here {formatting.mark(one.overall_now)}"
        shown = "" if one.verdict in (AuditVerdict.REFUSED, AuditVerdict.NOT_COMPARED) else marks
        unstated = "" if one.probe_set_stated else "; states no probe set"
        why = f": {one.why}" if one.why else ""
        output.line(f"{one.name}: {one.verdict.value}{why}{shown}{unstated}; {one.signature}")
        for each in one.differing:
            output.line(f"  {each.criterion}: recorded {each.recorded}, here {each.now}: {' '.join(each.why.split())}")
        if one.differing and one.elsewhere:
            output.line(f"  graded on another machine: {one.elsewhere}")
        left = [c for c in one.criteria if c.verdict is AuditVerdict.NOT_COMPARED]
        for why, count in Counter(c.why for c in left).items():
            ids = ", ".join(c.criterion for c in left if c.why == why)
            output.line(f"  not compared, {count} ({why}): {ids}")
    counts = Counter(one.verdict for one in results)
    output.line(", ".join(f"{counts[verdict]} {verdict.value}" for verdict in AuditVerdict if counts[verdict]))
    if without := sum(not one.probe_set_stated for one in results if one.criteria):
        output.note(
            f"{without} compared that state no probe set: they were held to the same rubric; whether to the same "
            "probes, they do not say"
        )
