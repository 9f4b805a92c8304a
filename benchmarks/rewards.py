"""What a reward costs: the profile `full` beside `reward`, a batch, and how steady rewards are.

    python benchmarks/rewards.py [--quick] [--part full|warm|batch|steady ...] [--challenge ID ...]

Run it on a machine that does nothing else; `--quick` leaves out `full` and `steady`, and grades a batch of 40. Each
part can be run by itself:

* `full`: wall time of a full grade of a right answer on two processors;
* `warm`: a reward on one processor, of a right and of a wrong answer, the median of a few;
* `batch`: rewards a second on two processors and what the grader's memory does over `--answers` of them;
* `steady`: the rewards of one right and three wrong answers, `--repeats` times each with fresh seeds.

The processor time printed is that of the grader and of everything it started, where a cgroup can count it, else of what
it waited for. It tells of a busy machine what its wall time does not.

Where the time went when a reward was a full grade, measured on two virtual cores with cProfile and process clocks: a
right layer norm took 13.5 s of the grader's processor time. 11.3 s of it went into one minor criterion, the contest of
`backward_speed`, which draws fresh inputs and verifies the outputs of every pair of timed calls; 1.5 s into the oracle
of the 136 cases that `any_size` draws; 0.7 s into all other probes. Of the wall time of a worker, 14 ms of 27 were
spent waiting for it to be forked, and 0.3 s of each answer for the interpreter and NumPy to load. So `reward` times
nothing, draws few cases, keeps the process that workers are forked from between answers, and makes
the next worker while one works. The answer's file is compiled by its first worker and by none of the other 27: with
that, opening a worker takes 14 ms of processor time in place of 19, and a request 0.1 ms of the grader's.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from promises import Promises

import harness
from harness.grading.linear_algebra import compute_in_one_thread
from harness.probing.challenge_code.code import ChallengeCode
from harness.workspace import Workspace

ROOT = Path(__file__).parents[1]
SECONDS = {"layernorm_backward": 0.7, "kv_cache": 1.5, "fused_softmax_topk": 4.5}
"""Promised wall time of the warm reward of a right answer on one processor."""
WRONG = {
    "layernorm_backward": ("no mean term", "global cache", "last row dropped from dgamma"),
    "kv_cache": ("no causal mask",),
    "fused_softmax_topk": (),
}
"""Mutants graded beside the right answer; the first mutant of the challenge where none is named or one is gone."""
ROUNDS = 5
REPEATS = 50
MANY, FEW = 2000, 40
PARTS = ("full", "warm", "batch", "steady")
BATCHED = "layernorm_backward"
"""The challenge whose answers are graded by the thousand."""
FULL_SECONDS = 15.0
"""Promised wall time of a full grade of a right answer on two processors that do nothing else."""
PAGE = os.sysconf("SC_PAGE_SIZE")
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


def full(code: ChallengeCode, top: Path, clock: Callable[[], float], promises: Promises) -> None:
    """A full grade of a right answer: the baseline of the challenge, which has tests of its own."""
    folder = ROOT / "submissions" / "baseline" / code.challenge.id
    found = cost(lambda: graded(folder, code.challenge.id, "full"), clock)
    print(f"{code.challenge.id:20s} full,   right {found}", flush=True)
    promises.at_most(f"{code.challenge.id}: full grade of a right answer", found.wall, FULL_SECONDS, " s")


def warm(code: ChallengeCode, top: Path, clock: Callable[[], float], promises: Promises) -> None:
    """The reward of a right and of a wrong answer on one processor, after a first grade."""
    id = code.challenge.id
    right = lay_out(top / f"{id}-right", code.source(), code)
    wrong = lay_out(top / f"{id}-wrong", wrong_sources(code)[0], code)
    processors = os.sched_getaffinity(0)
    graded(right, id, "reward")
    os.sched_setaffinity(0, {min(processors)})
    middle = {}
    for name, folder in (("right", right), ("wrong", wrong)):
        costs = [cost(lambda f=folder: graded(f, id, "reward"), clock) for _ in range(ROUNDS)]
        middle[name] = sorted(costs, key=lambda each: each.wall)[ROUNDS // 2]
        print(f"{id:20s} reward, {name} {middle[name]}", flush=True)
    os.sched_setaffinity(0, processors)
    promises.at_most(f"{id}: warm reward of a right answer", middle["right"].wall, SECONDS[id], " s")
    promises.at_most(f"{id}: wrong over right", middle["wrong"].wall / middle["right"].wall, 1.0)


def steady(code: ChallengeCode, top: Path, repeats: int, promises: Promises) -> None:
    """One right and three wrong answers, graded again and again with fresh seeds."""
    sources = [code.source(), *wrong_sources(code)]
    for number, source in enumerate(sources):
        folder = lay_out(top / f"{code.challenge.id}-steady-{number}", source, code)
        rewards = Counter(graded(folder, code.challenge.id, "reward").reward for _ in range(repeats))
        which = f"wrong answer {number}" if number else "right answer"
        print(f"{code.challenge.id:20s} {which}, {repeats} grades: {dict(rewards)}", flush=True)
        promises.at_most(f"{which}: different rewards in {repeats} grades", len(rewards), 1)


def resident_mib() -> float:
    """Resident memory of this process and of those that grade for it; workers in the sandbox come and go."""
    children = (Path(task, "children").read_text().split() for task in Path("/proc/self/task").iterdir())
    graders = [pid for own in children for pid in own if b"grading_process" in _read(Path("/proc", pid, "cmdline"))]
    return sum(int(_read(Path("/proc", pid, "statm")).split()[1]) for pid in ("self", *graders)) * PAGE / 2**20


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b"0 0"


def batch(code: ChallengeCode, top: Path, answers: int, promises: Promises) -> None:
    """Many right answers on two processors, every one another file, and what the grader's memory does meanwhile."""
    folders: Sequence[Path] = [
        lay_out(top / f"many-{number}", f"{code.source()}\n# {number}\n", code) for number in range(answers)
    ]
    start, resident = time.perf_counter(), []
    stream = harness.grade_stream(folders, code.challenge.id, profile="reward", jobs=2, force=True, workspace=ROOT)
    for number, record in enumerate(stream):
        if record.reward != 1:
            sys.exit(f"a right answer earned {record.reward}: {record.error}")
        if number % max(answers // 10, 1) == 0:
            resident.append(resident_mib())
    rate = answers / (time.perf_counter() - start)
    promises.at_least(f"{code.challenge.id}: rewards a second on two processors", rate, 2.0)
    late = max(len(resident) // 5, 1)
    early = resident[late - 1 if len(resident) == late else late]
    print(f"memory of the grading processes, MiB: {', '.join(f'{mib:.0f}' for mib in resident)}")
    promises.at_most(f"growth of their memory from a fifth of {answers} answers on", max(resident[late:]) / early, 1.1)


def main() -> None:
    """Print every figure; exit with 1 where a promise is broken."""
    asked = _asked()
    compute_in_one_thread()
    workspace, promises = Workspace.at(ROOT), Promises()
    codes = [ChallengeCode(workspace, workspace.challenge(id)) for id in asked.challenge]
    batched = next((code for code in codes if code.challenge.id == BATCHED), codes[0])
    with tempfile.TemporaryDirectory() as top, counted() as clock:
        for part, measure in (("full", full), ("warm", warm)):
            for code in codes if part in asked.part else ():
                measure(code, Path(top), clock, promises)
        if "batch" in asked.part:
            batch(batched, Path(top), asked.answers, promises)
        if "steady" in asked.part:
            steady(batched, Path(top), asked.repeats, promises)
    promises.settle()


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What a reward costs.")
    parser.add_argument("--quick", action="store_true", help="leave out what takes more than a few minutes")
    parser.add_argument("--part", nargs="+", choices=PARTS, help="what to measure; everything by default")
    parser.add_argument("--challenge", nargs="+", choices=list(SECONDS), default=list(SECONDS), help="of which")
    parser.add_argument("--answers", type=int, help=f"answers of the batch; {MANY} by default, {FEW} with --quick")
    parser.add_argument("--repeats", type=int, default=REPEATS, help=f"grades of each answer; {REPEATS} by default")
    asked = parser.parse_args()
    asked.part = asked.part or (("warm", "batch") if asked.quick else PARTS)
    asked.answers = asked.answers or (FEW if asked.quick else MANY)
    return asked


if __name__ == "__main__":
    main()
