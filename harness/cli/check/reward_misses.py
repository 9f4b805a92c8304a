"""Output of `harness check --rewards`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.cli import output

if TYPE_CHECKING:
    from harness.mutation.trials.reward_misses import RewardTrial
    from harness.probing.challenge_code.code import ChallengeCode


def grade_by_seeds(code: "ChallengeCode", seed: int, seeds: int, jobs: int, quiet: bool) -> Sequence["RewardTrial"]:
    """Grade the mutants of a challenge by `seeds` seeds from `seed` on; print the misses unless `quiet`."""
    from harness.mutation.trials.reward_misses import grade_mutants, list_reward_mutants

    with output.ProgressLine(len(list_reward_mutants(code))) as steps:

        def progress(trial: "RewardTrial") -> None:
            steps.done(trial.name, f"{code.challenge.id}: missed by {_format_rate(trial)} seeds: `{trial.name}`")

        trials = grade_mutants(code, seed, seeds, jobs, progress)
    if not quiet:
        print_misses(f"{code.challenge.id} (rewards, first seed {seed})", trials)
    return trials


def print_misses(title: str, trials: Sequence["RewardTrial"]) -> None:
    """Print how many faults every seed caught, then a row for each that some seed missed."""
    output.line(title)
    missed = [trial for trial in trials if trial.missed]
    output.line(
        f"{len(trials) - len(missed)} of {len(trials)} faults of criteria that a reward counts earn less by every seed"
    )
    rows = [(trial.name, trial.criterion, _format_rate(trial), _format_remark(trial)) for trial in missed]
    if rows:
        output.table(("fault", "criterion", "seeds that missed it", ""), rows, right=("seeds that missed it",))
    output.line()


def _format_remark(trial: "RewardTrial") -> str:
    if trial.costs_alone:
        return "what the option costs: not in a reward"
    return "" if trial.right else "WRONG: more than once in 50"


def _format_rate(trial: "RewardTrial") -> str:
    return f"{len(trial.missed)} of {trial.seeds}"
