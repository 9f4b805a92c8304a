"""`harness replay`: run one criterion again with the seed of its record."""

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import complete, output

if TYPE_CHECKING:
    from harness.grading.replay import Replayed
    from harness.model import Challenge, Criterion, Evidence

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?")


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

    Uses the seed of the record and prints expected and actual values. Exits with 1 if the result differs, and with 0
    if the record has none to compare, because it charges the failure to another criterion. Of a submission that does
    not build, its repaired copy is run, where the record has one.

    \b
    harness replay qwen3.6-27b/kv_cache decode_history
    """
    import json

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
        challenge = workspace.challenge(kept.challenge)
        _print(kept.name, challenge.criterion(criterion), replayed)
        output.line(_compare(challenge, replayed, record, folder))
    if replayed.same is False:
        raise typer.Exit(1)


def _print(name: str, criterion: "Criterion", replayed: "Replayed") -> None:
    from harness.report import formatting

    now, example = replayed.evidence, replayed.evidence.counterexample
    copy = " (a repaired copy: the submission does not build)" if replayed.repaired else ""
    output.line(f"{name} · {criterion.id}: {criterion.title}{copy}")
    expected, got = formatting.expected_and_got(example) if example else ("", "")
    before, after = ((formatting.outcome(e), _list_texts(e)) for e in (replayed.recorded, now))
    rows = {
        "probes": ", ".join(criterion.probes),
        "seed": str(now.seed),
        "recorded": _describe(replayed.recorded),
        "now": "the same" if before == after else _describe(now),
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


def _compare(challenge: "Challenge", replayed: "Replayed", record: str, folder: Path | None) -> str:
    if replayed.same is not None:
        return f"the result is {'the same as recorded' if replayed.same else 'not the one recorded'}"
    cause = replayed.recorded.rests_on
    if cause is None:
        return "nothing to compare: the record does not judge this criterion"
    charged = f"nothing to compare: the record charges this to `{cause}`"
    if not any(c.id == cause and c.probes for c in challenge.criteria):
        return charged
    command = ["harness", "replay", record, cause, *(["--folder", str(folder)] if folder else [])]
    return f"{charged}; replay that one: {shlex.join(command)}"


def _list_texts(evidence: "Evidence") -> list[str]:
    texts = (" ".join(text.split()) for text in (evidence.seen, *map(str, evidence.also)))
    return list(filter(None, texts))


def _describe(evidence: "Evidence") -> str:
    """Describe what was seen; of findings that differ in numbers only, the first with a count of the others."""
    from harness.report import formatting

    alike: dict[str, list[str]] = {}
    for text in _list_texts(evidence):
        alike.setdefault(_NUMBER.sub("0", text), []).append(text)
    seen = (first + (f" ({len(more)} more like it)" if more else "") for first, *more in alike.values())
    return ": ".join(filter(None, (formatting.outcome(evidence), "\n".join(seen))))
