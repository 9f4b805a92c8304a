"""Output of `harness check --seeds`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.cli import output

if TYPE_CHECKING:
    from harness.mutation.trials.right_answers import RightAnswerTrial
    from harness.probing.challenge_code.code import ChallengeCode


def judge_by_seeds(
    code: "ChallengeCode", seed: int, seeds: int, jobs: int, quiet: bool
) -> Sequence["RightAnswerTrial"]:
    """Judge a challenge's right answers by `seeds` seeds from `seed` on; print unless `quiet`."""
    from harness.mutation.trials.right_answers import RightAnswers, judge_right_answers

    with output.ProgressLine(seeds * len(RightAnswers(code, seed))) as steps:

        def progress(trial: "RightAnswerTrial") -> None:
            verdict = "right" if trial.right else "WRONG"
            steps.done(trial.name, f"{code.challenge.id}: {verdict}: `{trial.name}`, seed {trial.seed}")

        trials = judge_right_answers(code, seed, seeds, jobs, progress)
    if not quiet:
        print_verdicts(f"{code.challenge.id} (seeds {seed} to {seed + seeds - 1})", trials)
    return trials


def print_verdicts(title: str, trials: Sequence["RightAnswerTrial"]) -> None:
    """Print a row for each right answer, then the wrong verdicts and the criteria that did not run."""
    output.line(title)
    rows = []
    for name in dict.fromkeys(trial.name for trial in trials):
        own = [trial for trial in trials if trial.name == name]
        rows.append((name, f"{sum(t.right for t in own)} of {len(own)}", sum(bool(t.not_run) for t in own)))
    rows.append(("all", f"{sum(t.right for t in trials)} of {len(trials)}", sum(bool(t.not_run) for t in trials)))
    output.table(
        ("right answer", "seeds judged right", "not wholly measured"),
        rows,
        right=("seeds judged right", "not wholly measured"),
    )
    for trial in trials:
        if not trial.right:
            output.line(f"WRONG: `{trial.name}`, seed {trial.seed}: {trial.detail}")
        if trial.not_run:
            output.note(f"note: not measured: `{trial.name}`, seed {trial.seed}: {', '.join(trial.not_run)}")
    output.line()
