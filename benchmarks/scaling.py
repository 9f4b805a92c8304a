"""Grades on several nodes: throughput, what Ray costs a grade, and what is lost where nodes or the driver die.

    python benchmarks/scaling.py [--part NAME ...] [--answers N] [--grades N] [--kills N]

It needs the extra `ray`, and a machine that does nothing else; nodes are processes of this machine. Each part can be
run by itself:

* `throughput`: rewards a second of `--answers` right answers on Ray with 1, 2 and 4 nodes, and the time that Ray adds
  to a grade, its own processes counted, beside as many local processes as grade there at a time;
* `nodes`: `--grades` answers while a node is killed, and another one joins, every `--every` seconds: the records must
  equal those of an undisturbed run on one machine;
* `driver`: the same with the driver killed `--kills` times, and started again each time;
* `cost`: processor time that the driver spends on an answer, by what it does;
* `same`: one batch of `--answers` times the same answer: it must be graded once, in memory that does not grow;
* `shared`: two drivers at once, each bounded to one of two processors, with the same `--grades` answers and one store.
"""

import argparse
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from promises import Promises
from rewards import counted

import harness
from harness.executors.base import grade_all
from harness.executors.registry import new_executor
from harness.grading.linear_algebra import compute_in_one_thread
from harness.grading.options import Options
from harness.grading.submission_grade import Graded, grade_one
from harness.model import GradeProfile, Record
from harness.store.record_store import Store
from harness.workspace import Workspace
from tests.commands import command, environment
from tests.ray_nodes import local_nodes
from tests.running.kill_and_resume import ANSWERS, PROBES, made, plain
from tests.toy import REFERENCE, SUBMISSION, add_submission, make_workspace

ROOT = Path(__file__).parents[1]
PARTS = ("throughput", "nodes", "driver", "cost", "same", "shared")
OVERHEAD = 0.15
"""Promised share of a half-second grade that Ray adds."""
Way = int | tuple[int, ...]
"""So many local processes, or nodes of so many processors."""
WAYS: dict[str, Way] = {
    "local, 2 processes": 2, "ray, 1 node of 2": (2,), "ray, 2 nodes of 1": (1, 1),
    "local, 4 processes": 4, "ray, 4 nodes of 1": (1, 1, 1, 1),
}  # fmt: skip
"""Of two processors in all, and four that share the two; each on Ray beside as many local processes."""
CHALLENGE = "layernorm_backward"
WARM = 4
"""Results left out before the clock starts: processes start with them."""


def steady(stream: Iterator[Any], count: int, clock: Callable[[], float]) -> tuple[float, float]:
    """Wall and processor seconds for each of `count` results, those of the first few left out."""
    begun = spent = 0.0
    for number, result in enumerate(stream, 1):
        record = result.record if isinstance(result, Graded) else None
        if record is None or record.reward != 1:
            sys.exit(f"a right answer came out as {record and (record.reward, record.error)}")
        if number == WARM:
            begun, spent = time.perf_counter(), clock()
        if number == count:
            return (time.perf_counter() - begun) / (count - WARM), (clock() - spent) / (count - WARM)
    sys.exit(f"{count} results were asked for")


def answers(top: Path, count: int, seed: int) -> list[Path]:
    """Folders of right answers, every one another file."""
    source = (ROOT / "references" / CHALLENGE / "reference.py").read_text(encoding="utf-8")
    about = (
        f'[submission]\nmodel = "candidate"\nchallenge = "{CHALLENGE}"\nentry = "answer.py"\nprovenance = "baseline"\n'
    )
    for number in range(count):
        folder = top / f"{seed}-{number}"
        folder.mkdir()
        (folder / "answer.py").write_text(f"{source}\n# {seed} {number}\n", encoding="utf-8")
        (folder / "submission.toml").write_text(about, encoding="utf-8")
    return sorted(top.glob(f"{seed}-*"))


def throughput(asked: argparse.Namespace, top: Path, promises: Promises) -> None:
    """Rewards a second, one way after the other and again, so that a slow moment touches all ways."""
    wall: dict[str, list[float]] = defaultdict(list)
    processor: dict[str, list[float]] = defaultdict(list)
    numbers = itertools.count()
    with counted() as clock:
        for _ in range(asked.turns):
            for name, way in WAYS.items():
                each, spent = one_way(way, answers(top, asked.answers, next(numbers)), clock)
                wall[name].append(each)
                processor[name].append(spent)
                told = f"{1 / each:6.2f} rewards a second, {spent:6.3f} s of processor time each"
                print(f"{name:22s} {told}", flush=True)
    for name, way in WAYS.items():
        if isinstance(way, tuple):
            local = f"local, {sum(way)} processes"
            for what, times in (("wall", {k: 2 * min(v) for k, v in wall.items()}), ("processor", _least(processor))):
                added = times[name] - times[local]
                what = f"{name}: {what} time that Ray adds, {added * 1000:+.0f} ms, as a share of half a second"
                promises.at_most(what, added / 0.5, OVERHEAD)


def _least(times: dict[str, list[float]]) -> dict[str, float]:
    return {name: min(each) for name, each in times.items()}


def one_way(way: Way, folders: Sequence[Path], clock: Callable[[], float]) -> tuple[float, float]:
    """Wall and processor seconds of a grade."""
    workspace, options = Workspace.at(ROOT), Options(force=True, publish=False, profile=GradeProfile.REWARD)
    if isinstance(way, int):
        return steady(grade_all(new_executor("local", workspace, options, way), folders), len(folders), clock)
    with local_nodes(*way) as nodes:
        executor = new_executor("ray", workspace, options, None, nodes.address)
        return steady(grade_all(executor, folders), len(folders), clock)


def undisturbed(place: Path, count: int) -> tuple[Workspace, dict[str, Any]]:
    """A workspace of right, wrong and broken answers, and the records of one machine by model."""
    workspace = made(place / "disturbed")
    for number in range(count):
        add_submission(workspace, f"m{number:05d}", _variety(number))
    other = make_workspace(place / "undisturbed", probes=PROBES, mutants="MUTANTS = ()\n", variants="VARIANTS = ()\n")
    kinds = {}
    for number in range(3):
        kinds[number] = grade_one(other, add_submission(other, f"k{number}", _variety(number))).record
    return workspace, kinds


def _variety(number: int) -> str:
    kinds = (REFERENCE, REFERENCE.replace("x.sum", "x[:, 1:].sum"), "import nothing_of_that_name\n")
    return f"{kinds[number % 3]}\n# {number}\n" if number > 2 else kinds[number]


def equal(workspace: Workspace, kinds: dict[str, Any], count: int) -> int:
    """How many published records are those of an undisturbed run."""
    found = {record.model: record for record in workspace.records()}
    expected = {k: _comparable(record) for k, record in kinds.items()}
    return sum(
        _comparable(found[f"m{number:05d}"]) == expected[number % 3]
        for number in range(count)
        if f"m{number:05d}" in found
    )


def _comparable(record: Any) -> Any:
    """A record without what differs between equal answers of other names."""
    return {k: v for k, v in plain(json.loads(record.to_json())).items() if k not in ("model", "key")}


def nodes_killed(asked: argparse.Namespace, top: Path, promises: Promises) -> None:
    """Grades while nodes die."""
    workspace, kinds = undisturbed(top / "nodes", asked.grades)
    folders = [folder for folder in workspace.submissions() if folder.parent.name.startswith("m")]
    draw, killed, results = random.Random(asked.seed), 0, 0
    begun = last = time.monotonic()
    with local_nodes(1, 1) as nodes:
        for _ in grade_all(new_executor("ray", workspace, Options(), None, nodes.address), folders):
            results += 1
            if time.monotonic() - last > asked.every:
                last = time.monotonic()
                nodes.add(1)
                nodes.kill(draw.choice(nodes.nodes[:-1]))
                killed += 1
    same = equal(workspace, kinds, asked.grades)
    print(f"{asked.grades} grades in {time.monotonic() - begun:.0f} s, {killed} nodes killed")
    promises.at_least("nodes killed", killed, 1)
    promises.at_least(f"records equal to an undisturbed run, of {asked.grades}", same, asked.grades)
    promises.at_most("results too many or too few", abs(results - asked.grades), 0)


def driver_killed(asked: argparse.Namespace, top: Path, promises: Promises) -> None:
    """Grades while the driver is killed again and again, at moments spread over the whole run."""
    workspace, kinds = undisturbed(top / "driver", asked.grades)
    draw, kills, again = random.Random(asked.seed), 0, 0
    with local_nodes(1, 1) as nodes:
        line = command("grade", "--all", "--executor", "ray", "--address", nodes.address)
        while True:
            before = _texts(workspace)
            run = subprocess.Popen(
                line, env=environment(workspace.root), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            moment = asked.grades * (kills + 1) / (asked.kills + 1) if kills < asked.kills else float("inf")
            while run.poll() is None and len(list(workspace.records_folder.glob("*/*.json"))) < moment:
                time.sleep(0.05)
            time.sleep(draw.random())
            if run.poll() is None:
                run.send_signal(signal.SIGKILL)
                kills += 1
            run.wait()
            after = _texts(workspace)
            again += sum(after.get(model) != text for model, text in before.items())
            print(f"driver killed {kills} times: {len(after)} records", flush=True)
            if run.returncode != -signal.SIGKILL:
                break
    same = equal(workspace, kinds, asked.grades)
    promises.at_least("times that the driver was killed", kills, asked.kills)
    promises.at_least(f"records equal to an undisturbed run, of {asked.grades}", same, asked.grades)
    promises.at_most("finished grades lost or made again", again, 0)


def _texts(workspace: Workspace) -> dict[str, str]:
    """Every published record by model; each must be whole."""
    return {record.model: record.to_json() for record in workspace.records()}


def cost(asked: argparse.Namespace, top: Path, promises: Promises) -> None:
    """What the driver does for an answer, one thing at a time, in its own processor time."""
    from harness.executors.ray_cluster.executor import TOGETHER
    from harness.executors.ray_cluster.work import TaskReader
    from harness.grading.submission_grade import keep_all

    workspace, options = Workspace.at(ROOT), Options(force=True, publish=False, profile=GradeProfile.REWARD)
    store = make_workspace(top / "store")
    folders = answers(top, asked.answers, 7)
    record = grade_one(workspace, folders[0], options).record
    text = record.to_json()
    reader = TaskReader(workspace, options, lambda bundle: bundle)
    spent: dict[str, float] = {}
    together: list[tuple[Options, Record]] = []

    def saved(key: str) -> None:
        together.append((options, record.model_copy(update={"key": key})))
        if len(together) == TOGETHER:
            keep_all(store, together)
            together.clear()

    for name, act in (
        ("reading a folder, its task and its key", lambda folder: reader.read(folder).job.key_in(record.environment)),
        ("reading the record that came back", lambda folder: type(record).from_json(text)),
        (f"saving it, {TOGETHER} together", lambda folder: saved(folder.name)),
        ("looking for a record in the store", lambda folder: Store(store).find(folder.name)),
    ):
        act(folders[0])
        begun, wall = time.process_time(), time.perf_counter()
        for folder in folders:
            act(folder)
        spent[name] = (time.process_time() - begun) / len(folders)
        walled = (time.perf_counter() - wall) / len(folders)
        print(f"{name:42s} {spent[name] * 1000:6.2f} ms of the driver ({walled * 1000:.2f} ms wall)")
    print(
        f"{'together':42s} {sum(spent.values()) * 1000:6.2f} ms: at most {1 / sum(spent.values()):.0f} grades a second"
    )
    size = sum(len(data) for data in reader.read(folders[0]).task.answer.files.values())
    print(f"an answer of {size} bytes goes out, a record of {len(text)} bytes comes back")


def same(asked: argparse.Namespace, top: Path, promises: Promises) -> None:
    """One answer many times over."""
    workspace = make_workspace(top / "same")
    folders = [top / "same answers" / str(number) for number in range(asked.answers)]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "submission.toml").write_text(SUBMISSION.format(model="m"), encoding="utf-8")
        (folder / "answer.py").write_text(REFERENCE, encoding="utf-8")
    options = {"workspace": workspace.root, "executor": "ray", "profile": "reward"}
    grades, held, begun, spent = set(), [], 0.0, 0.0
    with local_nodes(1, 1) as nodes:
        for record in harness.grade_stream(folders, address=nodes.address, **options):
            if not held:
                begun, spent = time.perf_counter(), time.process_time()
            grades.add((record.key, record.seed, record.made, record.reward))
            held.append(resident())
    each = (time.process_time() - spent) / len(held), (time.perf_counter() - begun) / len(held)
    print(f"{len(held)} records, each {each[0] * 1000:.1f} ms of the driver ({each[1] * 1000:.1f} ms wall)")
    promises.at_most("grades made", len(grades), 1)
    promises.at_least("records handed out", len(held), asked.answers)
    promises.at_most(f"MiB by which the driver's {held[0]} grew", max(held) - held[0], 16)


def shared(asked: argparse.Namespace, top: Path, promises: Promises) -> None:
    """Two drivers of one store."""
    workspace, kinds = undisturbed(top / "shared", asked.grades)
    for model in ANSWERS:
        shutil.rmtree(workspace.submissions_folder / model)
    with local_nodes(1, 1) as nodes:
        line = command("grade", "--all", "--executor", "ray", "-j", "1", "--address", nodes.address)
        runs = [
            subprocess.Popen(
                line, env=environment(workspace.root), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        said = [run.communicate()[1] for run in runs]
    graded = [set(re.findall(r"^graded: (\S+)", words, re.MULTILINE)) for words in said]
    print(f"graded by the one {len(graded[0])}, by the other {len(graded[1])}, by both {len(graded[0] & graded[1])}")
    promises.at_least("graded by somebody", len(graded[0] | graded[1]), asked.grades)
    promises.at_least("records in the store", len(list(Store(workspace).records())), asked.grades)
    promises.at_least("published equal to an undisturbed run", equal(workspace, kinds, asked.grades), asked.grades)


def resident() -> int:
    """MiB of memory of this process."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGESIZE") >> 20


def main() -> None:
    """Print every figure; exit with 1 where a promise is broken."""
    parser = argparse.ArgumentParser(description="Grades on several nodes.")
    parser.add_argument(
        "--part", nargs="+", choices=PARTS, default=PARTS, help="what to measure; everything by default"
    )
    parser.add_argument("--answers", type=int, default=60, help="of each run of `throughput`, and of `cost`")
    parser.add_argument("--turns", type=int, default=3, help="of each way in `throughput`")
    parser.add_argument("--grades", type=int, default=500, help="of `nodes` and `driver`")
    parser.add_argument("--every", type=float, default=20.0, help="seconds between two nodes killed")
    parser.add_argument("--kills", type=int, default=20, help="times that the driver is killed")
    parser.add_argument("--seed", type=int, default=1, help="of which is killed when")
    asked = parser.parse_args()
    compute_in_one_thread()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    promises = Promises()
    measures = {"throughput": throughput, "nodes": nodes_killed, "driver": driver_killed, "cost": cost, "same": same,
                "shared": shared}  # fmt: skip
    with tempfile.TemporaryDirectory() as top:
        for part in asked.part:
            print(f"-- {part}", flush=True)
            measures[part](asked, Path(top), promises)
    promises.settle()


if __name__ == "__main__":
    main()
