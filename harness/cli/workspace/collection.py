"""`harness collection`: compare grades of published submissions with findings made by hand."""

from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import complete, output

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.importing.verification import VerifiedFinding
    from harness.model import Collection, Record
    from harness.workspace import Workspace

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Work with collections of published answers.")


@app.callback()
def options() -> None:
    """Make the command a group although it has a single member."""


@app.command()
def verify(
    id: Annotated[str, typer.Argument(metavar="ID", help="The collection.", autocompletion=complete.collections)],
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of the findings.")] = False,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="Also break properties around the fetched answers that have them.")
    ] = False,
) -> None:
    """Hold a collection's records to what was found in its answers by hand.

    Compares the records in reports/records/ with the collection's expected.toml, field by field, and lists on stderr
    what the records report beyond it. Exits with 1 if a finding that must be there is missing, one that must not be
    there is present, or an answer has no record. With --mutants, each fault that breaks one property of any right
    answer is put around every fetched answer that no gate holds down, and must be noticed; this takes minutes.

    \b
    harness collection verify llm_programming_tests
    """
    from harness.importing.verification import Agreement, find_further_faults, read_findings
    from harness.importing.verification import verify as verified
    from harness.model.submissions.expectation import Necessity
    from harness.store.record_store import Store
    from harness.workspace import Workspace

    workspace = Workspace.find()
    collection = workspace.collection(id)
    findings = read_findings(workspace, collection)
    published = Store(workspace).published.records()
    records = {r.name: r for r in published if r.origin and r.origin.collection == id}
    rows = verified(findings, records)
    if as_json:
        output.data([_to_json(row) for row in rows])
    else:
        titles = ("no.", "kind", "ids", "submission", "says", "verdict", "shown by")
        output.table(titles, list(map(_build_cells, rows)), right=("no.",), wraps=("ids", "says", "shown by"))
    musts = [row for row in rows if row.finding.kind is Necessity.MUST]
    found = sum(row.agreement is Agreement.FOUND for row in musts)
    present = sum(row.agreement is Agreement.PRESENT for row in rows)
    graded = f"{len(records)} of {len(collection.answers)} answers have a record"
    output.note(f"{found} of {len(musts)} found that must be there, {present} present that must not be; {graded}")
    for name, criterion in find_further_faults(findings, records):
        output.note(f"not listed: {name} fails {criterion}")
    noticed = _try_mutants(workspace, collection, records) if mutants else True
    if not noticed or not all(row.right for row in rows):
        raise typer.Exit(1)


def _try_mutants(workspace: "Workspace", collection: "Collection", records: "Mapping[str, Record]") -> bool:
    import random

    from harness.audit.property_check import check_published

    verdicts = list(check_published(workspace, collection, records, seed=random.getrandbits(32), progress=output.note))
    missed = [verdict for verdict in verdicts if not verdict.right]
    for verdict in missed:
        output.note(f"not noticed by `{verdict.criterion}`: {verdict.name}: {verdict.detail}")
    noticed = len(verdicts) - len(missed)
    output.note(f"{noticed} of {len(verdicts)} faults noticed that break a property around a right answer")
    return not missed


def _build_cells(row: "VerifiedFinding") -> list[object]:
    finding = row.finding
    verdict = row.agreement.value if row.right else row.agreement.value.upper()
    about = (finding.number or "", finding.kind.value, ", ".join(finding.ids), finding.name, finding.says)
    return [*about, verdict, ", ".join(row.shown_by)]


def _to_json(row: "VerifiedFinding") -> dict[str, object]:
    finding = row.finding
    return {
        "number": finding.number,
        "kind": finding.kind.value,
        "ids": list(finding.ids),
        "submission": finding.name,
        "agreement": row.agreement.value,
        "right": row.right,
        "shown_by": list(row.shown_by),
    }
