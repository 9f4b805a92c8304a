"""`harness check`: test that a challenge's probes catch wrong submissions and accept right ones."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import complete, output

if TYPE_CHECKING:
    from harness.mutation.checks.check import CheckResult
    from harness.mutation.trials.reward_misses import RewardTrial
    from harness.mutation.trials.right_answers import RightAnswerTrial
    from harness.probing.challenge_code.code import ChallengeCode
    from harness.workspace import Workspace

SEEDS = typer.Option(metavar="N", min=0, help="Judge the reference and its variants by N seeds, and try nothing else.")
REWARDS = typer.Option(metavar="N", min=0, help="Grade the mutants as a reward does, by N seeds; try nothing else.")
GENERATED = typer.Option(
    "--generated", metavar="N", min=0, help="Also try N wrong answers made by machine per challenge."
)
SET_ASIDE = typer.Option(metavar="M", min=0, help="Write M of them to set-aside/, to be read by hand.")


def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="CHALLENGE", help="All by default.", autocompletion=complete.challenges),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the inputs; random by default.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Also list the verdicts that are right.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of verdicts.")] = False,
    seeds: Annotated[int, SEEDS] = 0,
    rewards: Annotated[int, REWARDS] = 0,
    wrong_answers: Annotated[int, GENERATED] = 0,
    only_generated: Annotated[bool, typer.Option(help="Try nothing but those.")] = False,
    set_aside: Annotated[int, SET_ASIDE] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes that try them.")] = 1,
) -> None:
    """Check that probes catch wrong answers and accept right ones.

    The reference and its variants must pass every criterion, and each mutant must fail the criterion it names. Null
    answers (zeros, a constant, a copy of the input) and tampered ones (the reference with results averaged, replaced by
    noise, rounded, replayed, or cached by shape) must earn nothing. Exits with 1 if a verdict is wrong.

    --generated plants faults by machine in the reference and its variants, each under a condition (only above a size,
    only from some call on), and prints the share that some criterion notices, and the survivors. --seeds asks again
    and again whether a right answer is ever spoken against; only the first seed times it against the reference.
    --rewards counts how often the profile `reward` misses a mutant of a criterion that it counts; more than once in 50
    is wrong. All three go on where they were cut off, given the same --seed.
    """
    import secrets

    from harness.cli.check import generated
    from harness.probing.challenge_code.code import ChallengeCode
    from harness.workspace import Workspace

    workspace = Workspace.find()
    run_seed = secrets.randbits(48) if seed is None else seed
    sample = generated.Sample(run_seed, wrong_answers, jobs, set_aside)
    told, all_right = list[dict[str, object]](), True
    for name in names or workspace.challenges():
        code = ChallengeCode(workspace, workspace.challenge(name))
        verdicts: Sequence[CheckResult | RightAnswerTrial | RewardTrial] = ()
        if seeds or rewards:
            verdicts = _judge_by_seeds(code, run_seed, seeds, rewards, jobs, quiet=as_json)
        elif not only_generated:
            verdicts = _run_check(code, run_seed, verbose, quiet=as_json)
        trials = [] if seeds or rewards else sample.try_mutants(code, quiet=as_json)
        told += ({"challenge": name, "seed": run_seed, **dataclasses.asdict(v)} for v in (*verdicts, *trials))
        all_right = all_right and all(verdict.right for verdict in verdicts)
    if as_json:
        output.data(told)
    raise typer.Exit(0 if all_right else 1)


def _judge_by_seeds(
    code: "ChallengeCode", seed: int, seeds: int, rewards: int, jobs: int, quiet: bool
) -> Sequence["RightAnswerTrial | RewardTrial"]:
    from harness.cli.check.reward_misses import grade_by_seeds
    from harness.cli.check.right_answers import judge_by_seeds

    right = judge_by_seeds(code, seed, seeds, jobs, quiet) if seeds else ()
    return [*right, *(grade_by_seeds(code, seed, rewards, jobs, quiet) if rewards else ())]


def _run_check(code: "ChallengeCode", seed: int, verbose: bool, quiet: bool) -> list["CheckResult"]:
    from harness.cli import scaffold
    from harness.store.content_key import probe_set

    version = probe_set(code.workspace, code.challenge.id)
    verdicts = _collect_verdicts(code, seed)
    if not quiet:
        _print(code.challenge.id, verdicts, seed, verbose)
    if same := scaffold.list_template_parts(code.workspace, code.challenge):
        output.note(f"note: still as the template has it, about softmax by rows: {', '.join(same)}")
    unproved = _find_unproved(code)
    if unproved:
        output.note(f"note: no mutant proves that these criteria can fail: {', '.join(unproved)}")
    _remember(code.workspace, code.challenge.id, version, all(verdict.right for verdict in verdicts))
    return verdicts


def _remember(workspace: "Workspace", name: str, version: str, passed: bool) -> None:
    from harness.store.own_suite import OWN, own_challenges, remember_check

    if name in own_challenges(workspace):
        remember_check(workspace, name, version, passed)
        ranked = f"models are ranked over it, in the suite {OWN}" if passed else "not ranked until its check passes"
        output.note(f"{name}: {ranked}\n  try: harness {'scoreboard' if passed else f'check {name} --verbose'}")


def _collect_verdicts(code: "ChallengeCode", seed: int) -> list["CheckResult"]:
    from harness.mutation.checks.check import check
    from harness.mutation.checks.null_answer import NullAnswer
    from harness.mutation.checks.tampering import TAMPERINGS

    wrapped = sum(len(code.designs(mutant.criterion)) for mutant in code.property_mutants)
    total = 1 + len(code.variants) + len(code.mutants) + wrapped + len(NullAnswer.KINDS) + len(TAMPERINGS)
    verdicts = []
    with output.ProgressLine(total) as steps:
        for verdict in check(code, seed, progress=steps.now):
            verdicts.append(verdict)
            outcome = "WRONG" if not verdict.right else "right" if verdict.applies else "does not apply"
            steps.done(verdict.name, f"{code.challenge.id}: {outcome}: {verdict.kind} `{verdict.name}`")
    return verdicts


def _find_unproved(code: "ChallengeCode") -> list[str]:
    named = {m.criterion for m in code.mutants} | {m.criterion for m in code.property_mutants}
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
            output.line(_describe_verdict(verdict))
        if verdict.not_run:
            reasons = "; ".join(f"{criterion}: {reason}" for criterion, reason in verdict.not_run.items())
            output.note(f"note: not measured here: {verdict.kind} `{verdict.name}`: {reasons}")
    output.line()


def _describe_verdict(verdict: "CheckResult") -> str:
    if not verdict.applies:
        return f"does not apply: {verdict.kind} `{verdict.name}`: {verdict.detail}"
    expected = f"{verdict.expected} by `{verdict.criterion}`" if verdict.criterion else verdict.expected
    if verdict.right:
        return f"right: {verdict.kind} `{verdict.name}`: {expected}"
    return f"WRONG: {verdict.kind} `{verdict.name}`: should be: {expected}; but {verdict.detail}"
