"""Output of `harness check --generated`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli import output

if TYPE_CHECKING:
    from harness.mutation.trials.mutant_trials import MutantTrial
    from harness.mutation.trials.runs import KilledShare
    from harness.probing.challenge_code.code import ChallengeCode

FOLDER = Path("set-aside")
"""Folder of mutants for review by hand."""
_TITLES = ("", "wrong", "killed", "by a critical one", "share", "95 % interval")


@dataclass(frozen=True)
class Sample:
    """Request for generated mutants.

    Attributes:
        wanted: wrong mutants per challenge, or 0.
        jobs: worker processes.
        aside: number of mutants to write to `FOLDER`.
    """

    seed: int
    wanted: int
    jobs: int
    aside: int

    def try_mutants(self, code: "ChallengeCode", quiet: bool) -> list["MutantTrial"]:
        """Return the trials of generated mutants until enough are wrong; print unless `quiet`."""
        if not self.wanted:
            return []
        trials = self._run(code)
        if self.aside:
            set_aside(code.challenge.id, self.seed, trials, self.aside)
        if not quiet:
            print_shares(code.challenge.id, self.seed, trials)
        return trials

    def _run(self, code: "ChallengeCode") -> list["MutantTrial"]:
        from harness.mutation.trials.runs import run_trials

        with output.ProgressLine(self.wanted) as steps:

            def progress(trial: "MutantTrial") -> None:
                steps.now(f"mutant {trial.number}")
                if trial.wrong:
                    steps.done(f"mutant {trial.number}", f"{code.challenge.id}: mutant {trial.number} {trial.fate}")

            return run_trials(code, self.seed, self.wanted, self.jobs, progress=progress)


def print_shares(name: str, seed: int, trials: Sequence["MutantTrial"]) -> None:
    """Print the shares killed by guard, operator and kind of threshold, then the survivors as diffs."""
    from harness.mutation.trials.runs import KilledShare, shares_by

    output.line(f"{name}: wrong answers made by machine (seed {seed})")
    fates = Counter(trial.fate.value for trial in trials)
    output.line("; ".join(f"{count} {fate}" for fate, count in fates.most_common()))
    _print_table("all", [KilledShare.of("all", trials)])
    _print_table("threshold", shares_by([t for t in trials if t.thresholded], _name_threshold))
    _print_table("guard", shares_by(trials, lambda trial: trial.guard))
    _print_table("operator", shares_by(trials, lambda trial: trial.operator))
    for trial in trials:
        if trial.wrong and not trial.criterion:
            output.line(f"survived: mutant {trial.number} of {trial.origin}, {trial.operator}, {trial.condition}")
            left_open = f"; not run: {', '.join(trial.not_run)}" if trial.not_run else ""
            output.line(f"{trial.seen}{left_open}\n{trial.diff}")
        if trial.unjudged:
            output.note(f"note: probes broke on mutant {trial.number}: {', '.join(trial.unjudged)}")


def set_aside(name: str, seed: int, trials: Sequence["MutantTrial"], count: int) -> None:
    """Write an even selection of the mutants that build, with the driver's verdicts."""
    built = [trial for trial in trials if trial.fate != "broken at once"]
    chosen = [built[index * len(built) // count] for index in range(count)] if len(built) > count else built
    parts = [f"# {name}, seed {seed}: {len(chosen)} of {len(built)} mutants\n"]
    for trial in chosen:
        said = f"wrong: {trial.seen}" if trial.wrong else str(trial.fate)
        parts.append(f"## {trial.number}: {trial.operator}, {trial.condition}\n\nThe driver: {said}\n")
        parts.append(f"```diff\n{trial.diff}```\n")
    FOLDER.mkdir(exist_ok=True)
    place = FOLDER / f"{name}-{seed}.md"
    place.write_text("\n".join(parts), encoding="utf-8")
    output.note(f"wrote {output.place(place)}")


def _name_threshold(trial: "MutantTrial") -> str:
    return "a literal" if trial.literal else "computed"


def _print_table(title: str, shares: Sequence["KilledShare"]) -> None:
    rows = [
        (s.name, s.count, s.killed, s.gated, f"{s.share:.1%}", f"{s.interval.low:.1%} to {s.interval.high:.1%}")
        for s in shares
    ]
    output.table((title, *_TITLES[1:]), rows, right=_TITLES[1:])
    output.line()
