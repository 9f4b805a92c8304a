"""What a reward costs: the profile `full` beside `reward`, a batch, and how steady rewards are.

    python benchmarks/rewards.py [--quick]

Run it on a machine that does nothing else; `--quick` leaves out `full`, the 2,000 answers and the 50 grades of each
answer. Warm grades are held to one processor. The processor time printed is that of the grader and of everything it
started, where a cgroup can count it, else the grader's own.

Where the time went when a reward was a full grade, measured on two virtual cores with cProfile and process clocks: a
right layer norm took 13.5 s of the grader's processor time. 11.3 s of it went into one minor criterion, the contest of
`backward_speed`, which draws fresh inputs and verifies the outputs of every pair of timed calls; 1.5 s into the oracle
of the 136 cases that `any_size` draws; 0.7 s into all other probes. Of the wall time of a worker, 14 ms of 27 were
spent waiting for it to be forked, and 0.3 s of each answer for the interpreter and NumPy to load. So `reward` times
nothing, draws few cases, keeps the process that workers are forked from between answers, and makes
the next worker while one works.
"""

import argparse
import os
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from promises import Promises

import harness
from harness.probing.code import ChallengeCode
from harness.running.linear_algebra import compute_in_one_thread
from harness.workspace import Workspace

ROOT = Path(__file__).parents[1]
SECONDS = {"layernorm_backward": 0.7, "kv_cache": 1.5, "fused_softmax_topk": 4.0}
"""Promised wall time of the warm reward of a right answer on one processor."""
WRONG = {
    "layernorm_backward": ("no mean term", "global cache", "last row dropped from dgamma"),
    "kv_cache": ("no causal mask",),
    "fused_softmax_topk": (),
}
"""Mutants graded beside the right answer; the first mutant of the challenge where none is named or one is gone."""
ROUNDS = 5
REPEATS = 50
MANY = 2000
CGROUP = Path("/sys/fs/cgroup/cpuacct")


@dataclass(frozen=True)
class Cost:
    """Wall and processor seconds."""

    wall: float
    processor: float

    def __str__(self) -> str:
        return f"{self.wall:7.2f} s wall {self.processor:7.2f} s processor"


@contextmanager
def counted() -> Iterator[Callable[[], float]]:
    """What reads the processor seconds of this process and all it starts from now on."""
    own = CGROUP / f"harness-rewards-{os.getpid()}"
    try:
        own.mkdir()
        (own / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        usages = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        yield lambda: sum(sum(resource.getrusage(who)[:2]) for who in usages)
        return
    try:
        yield lambda: int((own / "cpuacct.usage").read_text()) / 1e9
    finally:
        (CGROUP / "cgroup.procs").write_text(str(os.getpid()))


def cost(act: Callable[[], object], clock: Callable[[], float]) -> Cost:
    """What one call costs."""
    wall, processor = time.perf_counter(), clock()
    act()
    return Cost(time.perf_counter() - wall, clock() - processor)


def wrong_sources(code: ChallengeCode) -> list[str]:
    """Sources of a few wrong answers."""
    named = [m for m in code.mutants if m.name in WRONG[code.challenge.id]]
    return [code.source(mutant) for mutant in named or code.mutants[:1]]


def lay_out(folder: Path, source: str, code: ChallengeCode) -> Path:
    """A folder with one answer."""
    folder.mkdir()
    (folder / code.language.entry).write_text(source, encoding="utf-8")
    return folder


def graded(folder: Path, challenge: str, profile: str) -> harness.Record:
    """The answer graded anew."""
    return harness.grade(folder, challenge, profile=profile, force=True, workspace=ROOT)


def compare(code: ChallengeCode, top: Path, clock: Callable[[], float], promises: Promises, full: bool) -> None:
    """A right and a wrong answer, in brief and in full."""
    id = code.challenge.id
    right = lay_out(top / f"{id}-right", code.source(), code)
    wrong = lay_out(top / f"{id}-wrong", wrong_sources(code)[0], code)
    if full:
        print(f"{id:20s} full,   right {cost(lambda: graded(right, id, 'full'), clock)}")
    processors = os.sched_getaffinity(0)
    graded(right, id, "reward")
    os.sched_setaffinity(0, {min(processors)})
    best = {}
    for name, folder in (("right", right), ("wrong", wrong)):
        costs = [cost(lambda f=folder: graded(f, id, "reward"), clock) for _ in range(ROUNDS)]
        best[name] = sorted(costs, key=lambda each: each.wall)[ROUNDS // 2]
        print(f"{id:20s} reward, {name} {best[name]}")
    os.sched_setaffinity(0, processors)
    promises.at_most(f"{id}: warm reward of a right answer", best["right"].wall, SECONDS[id], " s")
    promises.at_most(f"{id}: wrong over right", best["wrong"].wall / best["right"].wall, 1.0)


def steady(code: ChallengeCode, top: Path, promises: Promises) -> None:
    """One right and three wrong answers, graded again and again with fresh seeds."""
    sources = [code.source(), *wrong_sources(code)]
    for number, source in enumerate(sources):
        folder = lay_out(top / f"{code.challenge.id}-steady-{number}", source, code)
        rewards = Counter(graded(folder, code.challenge.id, "reward").reward for _ in range(REPEATS))
        print(f"{code.challenge.id:20s} {'wrong' if number else 'right'} answer, {REPEATS} grades: {dict(rewards)}")
        promises.at_most("different rewards of one answer", len(rewards), 1)


def batch(code: ChallengeCode, top: Path, answers: int, promises: Promises) -> None:
    """Many right answers on two processors, every one another file, and what the grader's memory does meanwhile."""
    folders: Sequence[Path] = [
        lay_out(top / f"many-{number}", f"{code.source()}\n# {number}\n", code) for number in range(answers)
    ]
    start, resident = time.perf_counter(), []
    stream = harness.grade_stream(folders, code.challenge.id, profile="reward", jobs=2, force=True, workspace=ROOT)
    for number, record in enumerate(stream):
        assert record.reward == 1, record.error
        if number % max(answers // 10, 1) == 0:
            resident.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    rate = answers / (time.perf_counter() - start)
    promises.at_least(f"{code.challenge.id}: rewards a second on two processors", rate, 2.0)
    early = resident[len(resident) // 5]
    print(
        f"memory of the grader: {early:.0f} MiB after a fifth of {answers} answers, {resident[-1]:.0f} MiB at the end"
    )
    promises.at_most("growth of its memory from there", resident[-1] / early, 1.1)


def main() -> None:
    """Print every figure; exit with 1 where a promise is broken."""
    parser = argparse.ArgumentParser(description="What a reward costs.")
    parser.add_argument("--quick", action="store_true", help="leave out what takes more than a few minutes")
    quick = parser.parse_args().quick
    compute_in_one_thread()
    workspace, promises = Workspace.at(ROOT), Promises()
    codes = [ChallengeCode(workspace, workspace.challenge(id)) for id in SECONDS]
    with tempfile.TemporaryDirectory() as top, counted() as clock:
        for code in codes:
            compare(code, Path(top), clock, promises, full=not quick)
        batch(codes[0], Path(top), 40 if quick else MANY, promises)
        if not quick:
            steady(codes[0], Path(top), promises)
    promises.settle()


if __name__ == "__main__":
    main()
