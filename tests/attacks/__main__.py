"""`python -m tests.attacks`: run the corpus and print what was caught, what escaped, and what was a false alarm."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from harness.grading.linear_algebra import compute_in_one_thread
from harness.model import GradeProfile
from harness.sandbox import detect
from tests.attacks import corpus, nursery, profiles


def main() -> int:
    """Run what is asked for; 1 when something escaped, an honest answer was suspected or the page says otherwise."""
    asked = _asked()
    if asked.tier:
        os.environ["HARNESS_TIER"] = asked.tier
    tier = detect()
    if asked.nursery:
        nursery.serve(asked.nursery)
        return 0
    print(f"tier {tier}: {tier.promise}", flush=True)
    if asked.profile:
        return _under_profile(asked.profile, asked)
    chosen = [
        attack
        for name, attack in corpus.attacks(*asked.files).items()
        if (not asked.only or any(part in name for part in asked.only)) and corpus.reachable(attack, tier)
    ]
    start = time.monotonic()
    verdicts = corpus.run(chosen, asked.jobs, _tell if asked.verbose else _tell_wrong)
    print(*corpus.table(verdicts, asked.markdown), sep="\n")
    print(f"{len(verdicts)} judged in {time.monotonic() - start:.0f} s, {asked.jobs} at a time")
    untrue = _untrue(asked.page, verdicts, tier) if asked.page else []
    print(*untrue, sep="\n", end="\n" * bool(untrue))
    return int(any(v.wrong for v in verdicts) or not verdicts or bool(untrue))


def _under_profile(profile: GradeProfile, asked: argparse.Namespace) -> int:
    """Grade the attacks on marks under a profile, one after the other; 1 when one gains or a right answer loses."""
    compute_in_one_thread()
    chosen = [
        attack
        for name, attack in profiles.attacks().items()
        if not asked.only or any(part in name for part in asked.only)
    ]
    start = time.monotonic()
    results = []
    for earned in profiles.run(chosen, profile):
        results.append(earned)
        if asked.verbose or earned.wrong:
            said = "; ".join(earned.wrong) or "as it should be"
            print(f"{earned.seconds:5.1f} s  {earned.name} @ {earned.challenge}: {earned.reward}: {said}", flush=True)
    print(*profiles.table(results), sep="\n")
    print(f"{len(results)} graded under `{profile}` in {time.monotonic() - start:.0f} s")
    return int(any(earned.wrong for earned in results) or not results)


def _untrue(page: Path, verdicts: Sequence[corpus.Verdict], tier: str) -> list[str]:
    """A line for each row of the page's table that says otherwise than these verdicts."""
    says, ran = corpus.stated(page.read_text(encoding="utf-8"), tier), corpus.counted(verdicts)
    return [
        f"{page}: {kind}: tier {tier}: says {says.get(kind, 'nothing')}, ran {ran.get(kind, 'nothing')}"
        for kind in sorted(says.keys() | ran.keys())
        if says.get(kind) != ran.get(kind) and not kind.startswith("seconds")
    ]


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("--tier", choices="ABC", help="hold the answers in this tier; the best here by default")
    parser.add_argument("--only", metavar="NAME", nargs="+", help="those whose `NAME @ CHALLENGE` has this in it")
    jobs = len(os.sched_getaffinity(0)) + 1  # some only wait
    parser.add_argument("--jobs", type=int, default=jobs, help=f"how many at a time; {jobs} by default")
    parser.add_argument("--markdown", action="store_true", help="print the table for a document")
    parser.add_argument("--verbose", action="store_true", help="a line for every attack")
    parser.add_argument("--files", metavar="PATTERN", nargs="+", default=(), help="those in these files alone")
    parser.add_argument("--page", type=Path, help="fail where the table of this Markdown page says otherwise")
    parser.add_argument(
        "--profile", type=GradeProfile, choices=list(GradeProfile), metavar="NAME",
        help="grade the attacks on marks under a profile instead, all in one process, and compare their rewards with "
        "what the gates leave",
    )  # fmt: skip
    parser.add_argument("--nursery", type=float, help=argparse.SUPPRESS)
    return parser.parse_args()


def _tell(verdict: corpus.Verdict) -> None:
    said = "; ".join(verdict.wrong) or f"as it should be: {verdict.seen}"
    raised = f" [{', '.join(verdict.signals)}]" if verdict.signals else ""
    print(f"{verdict.seconds:5.1f} s  {verdict.name} @ {verdict.challenge}: {said}{raised}", flush=True)


def _tell_wrong(verdict: corpus.Verdict) -> None:
    if verdict.wrong:
        _tell(verdict)


if __name__ == "__main__":
    sys.exit(main())
