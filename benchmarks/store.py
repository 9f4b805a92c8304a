"""What the store does with a million records, and the scoreboard with a hundred thousand.

    python benchmarks/store.py                                      20,000 records, and 1,600 on the board
    python benchmarks/store.py --records 1000000 --board 100000     what docs/scaling.md states
    python benchmarks/store.py --records 0 --board 100000 --one-by-one   published as grades are, then ranked
    python benchmarks/store.py --board 0 --export 0                 the store alone

Records are the bundled ones under other names and keys: the evidence of each is that of one of some hundred copies
whose figures were drawn anew, for evidence of several records together is not believed. Making them is not timed. All
lies in a temporary folder, removed at the end; --folder says where it is made. A million records take 4 GB, a hundred
thousand published ones 3 GB more.
"""

import argparse
import hashlib
import random
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import islice
from pathlib import Path

from promises import Promises

from harness.model import GradeProfile, Provenance, Record, Status
from harness.model.submissions.name import SubmissionName
from harness.scoring import score
from harness.scoring.reward import reward
from harness.store.file_states import SETTLED_SECONDS
from harness.store.record_store import Store
from harness.workspace import Workspace
from reports import ROOT, command

MODELS = 200
COPIES = 25
"""Of each bundled record, with other figures."""
MODEL = "the-model-of-this-record"
"""Stands for a name in a text."""
BATCH = 5000
LOOKED_UP = 1000
FIGURE = re.compile(r"(?<=\d\.)\d{3,}")
"""Decimals of a figure, in numbers and in sentences."""


class Shape:
    """Draws records of the shape of real ones.

    Args:
        workspace: holds the records to draw from.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._draw = random.Random(7)
        self._records = [record for record in workspace.records() if record.status is Status.GRADED]
        self._copies: dict[str, list[Record]] = {}
        for record in self._records:
            self._copies.setdefault(record.challenge, []).extend(self._other_figures(record) for _ in range(COPIES))

    def records(self, count: int, models: int = MODELS) -> Iterator[Record]:
        """So many, of so many models, each with as many attempts at each challenge as it takes."""
        bases = {record.challenge: record for record in self._records}
        names = sorted(bases)
        for number in range(count):
            place, model = divmod(number, models)
            attempt, challenge = divmod(place, len(names))
            yield self._record(bases[names[challenge]], f"model-{model:03}", attempt + 1, number)

    def _record(self, base: Record, model: str, attempt: int, number: int) -> Record:
        drawn, copy = self._draw, self._draw.choice(self._copies[base.challenge])
        return base.model_copy(
            update={
                "model": model, "attempt": attempt, "seed": copy.seed, "origin": None,
                "provenance": Provenance.MODEL_OUTPUT, "key": hashlib.sha256(str(number).encode()).hexdigest(),
                "made": base.made + timedelta(seconds=number), "reward": round(drawn.random(), 4),
                "seconds": {stage: round(drawn.uniform(0.5, 2) * spent, 3) for stage, spent in base.seconds.items()},
                "evidence": copy.evidence,
            }
        )  # fmt: skip

    def _other_figures(self, record: Record) -> Record:
        """The record with other decimals in all its figures; those between 0 and 1 stay there."""

        def other(found: re.Match[str]) -> str:
            return "".join(self._draw.choices("123456789", k=len(found[0])))

        return Record.from_json(FIGURE.sub(other, record.to_json()))


def scratch_workspace(root: Path) -> Workspace:
    """One with the rubrics of this checkout."""
    for challenge in Workspace(ROOT).challenges():
        folder = root / "challenges" / challenge
        folder.mkdir(parents=True)
        shutil.copy(ROOT / "challenges" / challenge / "challenge.toml", folder)
    return Workspace(root)


def inserted(store: Store, shape: Shape, count: int) -> tuple[list[str], float, float]:
    """Some of the keys, and the wall and processor seconds that keeping all records took."""
    keys: list[str] = []
    wall = processor = 0.0
    records = shape.records(count)
    while batch := list(islice(records, BATCH)):
        start, used = time.perf_counter(), time.process_time()
        store.add_many(batch)
        wall, processor = wall + time.perf_counter() - start, processor + time.process_time() - used
        keys += [record.key for record in batch[:: max(1, count // BATCH)]]
    return keys, wall, processor


def timed(action: Callable[[], object]) -> float:
    """Wall seconds of one run."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def store_figures(promises: Promises, workspace: Workspace, count: int, exported: int) -> None:
    """Keep, summarise, look up, export."""
    shape, store = Shape(Workspace(ROOT)), Store(workspace)
    keys, wall, processor = inserted(store, shape, count)
    promises.at_least(f"{count:,} records kept, each second", count / wall, 5000)
    print(f"  and each second of processor time: {count / processor:,.0f}")
    size = sum(path.stat().st_size for path in store.path.parent.glob(f"{store.path.name}*"))
    promises.at_most("each takes on disk", size / count / 1000, 12, " kB")
    promises.at_most("summary by model and challenge", min(timed(store.summary) for _ in range(3)), 1, " s")
    assert sum(one.records for one in store.summary()) == count
    sought = random.Random(7).sample(keys, min(LOOKED_UP, len(keys)))
    times = [timed(lambda key=key: store.find(key)) for key in sought]
    promises.at_most("look-up by key, the record read and checked, median", 1000 * statistics.median(times), 1, " ms")
    print(
        f"  and of a key that is not there: {1000 * min(timed(lambda: store.find('none')) for _ in range(50)):.3f} ms"
    )
    if exported:
        for what in ("records", "evidence"):
            out = workspace.root / f"{what}.parquet"
            cost = command(workspace.root, "export", what, "--made-here", "--parquet", str(out))
            promises.at_most(f"export {what} --parquet of {count:,}, most memory", cost.memory, 1024, " MiB")
            print(f"  {cost}   {out.stat().st_size / 1e6:.0f} MB")


def publish(workspace: Workspace, count: int, *, one_by_one: bool = False) -> None:
    """Put so many records on a board, quickly: one in `COPIES` is drawn and scored.

    The others are these under other names. Model and attempt stand in few places of the text, so they are put there.

    Args:
        workspace: where.
        count: how many.
        one_by_one: whether the store publishes them, as at the end of a grade; else their files are written.
    """
    store = Store(workspace)
    rubrics = {id: workspace.challenge(id) for id in workspace.challenges()}
    pool: dict[str, list[str]] = {}
    for record in Shape(Workspace(ROOT)).records(count // COPIES + len(rubrics), models=1):
        scored = score(rubrics[record.challenge], record.evidence, built=True)
        counted = GradeProfile.REWARD.criteria(rubrics[record.challenge])
        marks = {"overall": scored.overall, "dimensions": scored.dimensions, "gates": scored.gates}
        marks["reward"] = reward(rubrics[record.challenge], record.evidence, counted, built=True)
        text = record.model_copy(update={**marks, "model": MODEL, "attempt": 1}).to_json()
        pool.setdefault(record.challenge, []).append(text)
    names, draw = sorted(pool), random.Random(8)
    for number in range(count):
        place, model = divmod(number, MODELS)
        attempt, challenge = divmod(place, len(names))
        text = draw.choice(pool[names[challenge]]).replace(MODEL, f"model-{model:03}")
        name = SubmissionName(f"model-{model:03}", names[challenge], attempt + 1)
        path = workspace.records_folder / name.record
        text = text.replace('"attempt": 1,', f'"attempt": {attempt + 1},', 1)
        if one_by_one:
            store.publish(Record.from_json(text))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        workspace.submissions_folder.joinpath(*name.parts).mkdir(parents=True)


def board_figures(promises: Promises, workspace: Workspace, count: int, *, one_by_one: bool) -> None:
    """Rank published records: for the first time, with one changed, with nothing changed."""
    start = time.perf_counter()
    publish(workspace, count, one_by_one=one_by_one)
    each = 1000 * (time.perf_counter() - start) / count
    print(f"{count:,} records published {f'by the store, {each:.1f} ms each' if one_by_one else 'as files'}")
    time.sleep(SETTLED_SECONDS + 1)
    first = command(workspace.root, "scoreboard")
    what = f"scoreboard of {count:,} records of {MODELS} models, the first"
    if one_by_one:
        promises.at_most(f"{what}, processor time", first.processor, 5, " s")
        print(f"  {first}")
    else:
        print(f"{what}, all files new to the store: {first}")
    for state in ("one record changed", "nothing changed"):
        if state == "one record changed":
            next(workspace.records_folder.rglob("attempt-1.json")).touch()
            time.sleep(SETTLED_SECONDS + 1)
        cost = command(workspace.root, "scoreboard")
        what = f"scoreboard of {count:,} records of {MODELS} models, {state}, processor time"
        promises.at_most(what, cost.processor, 5, " s")
        print(f"  {cost}")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--records", type=int, default=20_000)
    options.add_argument("--board", type=int, default=1600)
    options.add_argument("--one-by-one", action="store_true", help="publish the board's records as grades do")
    options.add_argument("--export", type=int, default=1)
    options.add_argument("--folder", default=None)
    given = options.parse_args()
    promises = Promises()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        if given.records:
            store_figures(promises, scratch_workspace(Path(folder, "store")), given.records, given.export)
        if given.board:
            board_figures(promises, scratch_workspace(Path(folder, "board")), given.board, one_by_one=given.one_by_one)
    promises.settle()


if __name__ == "__main__":
    main()
