"""`harness check`: whether a challenge's probes catch wrong answers and accept right ones."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import complete, output

if TYPE_CHECKING:
    from harness.probing.check import CheckResult
    from harness.probing.code import ChallengeCode


def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CHALLENGE", help="Challenges to check; all by default.", autocompletion=complete.challenges
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the inputs; random by default.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Also list the verdicts that are right.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of verdicts.")] = False,
) -> None:
    """Check that probes catch wrong answers and accept right ones.

    The reference and its variants must pass every criterion, and each mutant must fail the criterion it names. Null
    answers (zeros, a constant, a copy of the input) and tampered ones (the reference with results averaged, replaced by
    noise, rounded, replayed, or cached by shape) must earn nothing. Exits with 1 if a verdict is wrong.
    """
    import secrets

    from harness.probing.code import ChallengeCode
    from harness.workspace import Workspace

    workspace = Workspace.find()
    run_seed = secrets.randbits(48) if seed is None else seed
    found: dict[str, list[CheckResult]] = {}
    for name in names or workspace.challenges():
        code = ChallengeCode(workspace, workspace.challenge(name))
        found[name] = _verdicts(code, run_seed)
        if not as_json:
            _print(name, found[name], run_seed, verbose)
        unproved = _unproved(code)
        if unproved:
            output.note(f"note: no mutant proves that these criteria can fail: {', '.join(unproved)}")
    if as_json:
        output.data(
            [{"challenge": name, "seed": run_seed, **dataclasses.asdict(v)} for name in found for v in found[name]]
        )
    if not all(v.right for verdicts in found.values() for v in verdicts):
        raise typer.Exit(1)


def _verdicts(code: "ChallengeCode", seed: int) -> list["CheckResult"]:
    from harness.probing.check import check
    from harness.probing.null_answer import NullAnswer
    from harness.probing.tampering import TAMPERINGS

    total = 1 + len(code.variants) + len(code.mutants) + len(NullAnswer.KINDS) + len(TAMPERINGS)
    verdicts = []
    with output.ProgressLine(total) as steps:
        for verdict in check(code, seed, progress=steps.now):
            verdicts.append(verdict)
            outcome = "WRONG" if not verdict.right else "right" if verdict.applies else "does not apply"
            steps.done(verdict.name, f"{code.challenge.id}: {outcome}: {verdict.kind} `{verdict.name}`")
    return verdicts


def _unproved(code: "ChallengeCode") -> list[str]:
    """Probed criteria that no mutant names."""
    named = {mutant.criterion for mutant in code.mutants}
    return [c.id for c in code.challenge.criteria if c.probes and c.id not in named]


def _print(name: str, verdicts: Sequence["CheckResult"], seed: int, verbose: bool) -> None:
    counts = Counter((v.kind, v.right) for v in verdicts if v.applies)
    kinds = list(dict.fromkeys(v.kind for v in verdicts))
    expected = {v.kind: v.expected for v in verdicts}
    output.line(f"{name} (seed {seed})")
    rows = [(k, f"{counts[k, True]} of {counts[k, True] + counts[k, False]}", expected[k]) for k in kinds]
    output.table(("answers", "right", "which is"), rows, right=("right",))
    for verdict in verdicts:
        if verbose or not verdict.right or not verdict.applies:
            output.line(_sentence(verdict))
        if verdict.not_run:
            reasons = "; ".join(f"{criterion}: {reason}" for criterion, reason in verdict.not_run.items())
            output.note(f"note: not measured here: {verdict.kind} `{verdict.name}`: {reasons}")
    output.line()


def _sentence(verdict: "CheckResult") -> str:
    if not verdict.applies:
        return f"does not apply: {verdict.kind} `{verdict.name}`: {verdict.detail}"
    expected = f"{verdict.expected} by `{verdict.criterion}`" if verdict.criterion else verdict.expected
    if verdict.right:
        return f"right: {verdict.kind} `{verdict.name}`: {expected}"
    return f"WRONG: {verdict.kind} `{verdict.name}`: should be: {expected}; but {verdict.detail}"
