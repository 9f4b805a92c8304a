"""`harness replay`: run one criterion again with the seed of its record."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import complete, output

if TYPE_CHECKING:
    from harness.grading.replay import Replayed
    from harness.model import Criterion, Evidence


def replay(
    record: Annotated[
        str,
        typer.Argument(metavar="RECORD", help="MODEL/CHALLENGE, or path of a record.", autocompletion=complete.records),
    ],
    criterion: Annotated[str, typer.Argument(metavar="CRITERION", help="Id of a criterion that has probes.")],
    folder: Annotated[Path | None, typer.Option(help="Folder of the submission, if not under submissions/.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print recorded and new evidence as JSON.")] = False,
) -> None:
    """Run one criterion again on the same inputs.

    Uses the seed of the record and prints expected and actual values. Exits with 1 if the result differs. Of a
    submission that does not build, its repaired copy is run, where the record has one.

    \b
    harness replay qwen3.6-27b/kv_cache decode_history
    """
    from harness.grading.replay import replay as replay_criterion
    from harness.store.record_store import Store
    from harness.workspace import Workspace

    workspace = Workspace.find()
    kept = Store(workspace).published.record(record)
    replayed = replay_criterion(workspace, kept, criterion, folder)
    if as_json:
        evidence = {"recorded": replayed.recorded, "now": replayed.evidence}
        output.data({"same": replayed.same, **{k: json.loads(e.model_dump_json()) for k, e in evidence.items()}})
    else:
        _print(kept.name, workspace.challenge(kept.challenge).criterion(criterion), replayed)
    if not replayed.same:
        raise typer.Exit(1)


def _print(name: str, criterion: "Criterion", replayed: "Replayed") -> None:
    from harness.report import formatting

    now, example = replayed.evidence, replayed.evidence.counterexample
    copy = " (a repaired copy: the submission does not build)" if replayed.repaired else ""
    output.line(f"{name} · {criterion.id}: {criterion.title}{copy}")
    expected, got = formatting.expected_and_got(example) if example else ("", "")
    before, after = _describe(replayed.recorded), _describe(now)
    rows = {
        "probes": ", ".join(criterion.probes),
        "seed": str(now.seed),
        "recorded": before,
        "now": "the same" if after == before else after,
        "measured": formatting.measured(now),
        "failed in": example.probe if example else "",
        "input": formatting.sizes(example) if example else "",
        "program": "\n".join(example.program) if example else "",
        "where": example.where if example else "",
        "expected": expected,
        "got": got,
        "diagnosis": now.diagnosis.words if now.diagnosis else "",
    }
    output.pairs(rows)
    output.line(f"the result is {'the same as recorded' if replayed.same else 'not the one recorded'}")


def _describe(evidence: "Evidence") -> str:
    from harness.report import formatting

    seen = (" ".join(text.split()) for text in (evidence.seen, *map(str, evidence.also)))
    return ": ".join(filter(None, (formatting.outcome(evidence), "\n".join(filter(None, seen)))))
