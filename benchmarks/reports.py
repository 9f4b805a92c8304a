"""What the reports cost: the bundled set, thousands of synthetic records, and a ranking of a thousand models.

    python benchmarks/reports.py

Synthetic records are the bundled ones under other names, with a part of their criteria drawn anew; challenges and
source files are copied with them. Commands are timed as a user runs them; memory is the most the process ever held.

To compare with another commit, alternate with the benchmark of that commit: `git worktree add OLD COMMIT`, then
`PYTHONPATH=OLD python OLD/benchmarks/reports.py`. One from before records were indexed times one scoreboard only.
"""

import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.model import Challenge, Evidence, Outcome, Provenance, Record, Score, Status
from harness.scoring import score, standings
from harness.scoring.duels import Duel
from harness.store.file_states import SETTLED_SECONDS
from harness.workspace import Workspace
from harness.workspace.stored_files import read_stored

ROOT = Path(__file__).resolve().parent.parent
CHALLENGES = 40
MODELS = (12, 25, 50)
SUBMISSIONS = ("baseline", "glm-5", "minimax-m2.7", "qwen3.6-27b")
FAILS = 0.1
"""Share of what passed in a bundled record that fails in its copies."""
RANKED, MATCHES, ON = 1000, 100_000, 100


@dataclass(frozen=True)
class Cost:
    """Wall seconds, processor seconds and peak memory, in MiB, of one command."""

    seconds: float
    processor: float
    memory: float

    def __str__(self) -> str:
        return f"{self.seconds:7.2f} s  {self.processor:7.2f} s of processor time  {self.memory:6.0f} MiB"


def command(workspace: Path, *words: str) -> Cost:
    """Run `harness` there."""
    start = time.perf_counter()
    process = subprocess.Popen(
        (sys.executable, "-P", "-m", "harness", *words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "HARNESS_WORKSPACE": str(workspace), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"harness {' '.join(words)}: exit code {process.returncode}\n{said}")
    return Cost(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def bundled(place: Path) -> None:
    """The reports of this repository."""
    out = place / "bundled"
    cost = min((command(ROOT, "report", "--out", str(out)) for _ in range(3)), key=lambda c: c.seconds)
    print(f"harness report, bundled set      {cost}   {sizes(out)}")
    print(f"harness scoreboard, bundled set  {command(ROOT, 'scoreboard')}")


def sizes(out: Path) -> str:
    """Pages, their bytes together, and the largest."""
    pages = {path: path.stat().st_size for path in out.rglob("*") if path.is_file()}
    largest = max(pages, key=lambda path: pages[path])
    total = sum(pages.values()) / 1e6
    return f"{len(pages)} files, {total:.1f} MB, largest {largest.name} {pages[largest] / 1e6:.2f} MB"


def synthetic(place: Path) -> None:
    """Many models on many challenges, and how cost grows with records and pairs."""
    grown: list[tuple[int, float]] = []
    for models in MODELS:
        root = place / f"models-{models}"
        make(root, models)
        cost = command(root, "report", "--out", str(root / "out"))
        boards = scoreboards(root)
        records, pairs = models * CHALLENGES, CHALLENGES * math.comb(models, 2)
        grown.append((records + pairs, cost.seconds))
        print(f"{records:5} records, {pairs:6} pairs: report {cost}   {sizes(root / 'out')}")
        for state, board in boards.items():
            print(f"{records:5} records, {state}: scoreboard {board}")
        shutil.rmtree(root)
    (fewer, quick), (more, slow) = grown[0], grown[-1]
    print(f"seconds grow as (records + pairs) to the power of {math.log(slow / quick) / math.log(more / fewer):.2f}")


def scoreboards(root: Path) -> dict[str, Cost]:
    """The scoreboard with an empty store, with nothing changed since, and with one record changed."""
    shutil.rmtree(root / ".harness", ignore_errors=True)
    time.sleep(SETTLED_SECONDS + 1)
    costs = {"empty store": command(root, "scoreboard"), "nothing changed": command(root, "scoreboard")}
    next(root.glob("reports/records/*/model-07.json")).touch()
    time.sleep(SETTLED_SECONDS + 1)
    return {**costs, "one record changed": command(root, "scoreboard")}


def make(root: Path, models: int) -> None:
    """A workspace of so many models, each with a record for each of 40 challenges."""
    draw = random.Random(7)
    sources = sorted(path.name for path in (ROOT / "challenges").iterdir() if (path / "challenge.toml").is_file())
    (root / "submissions").mkdir(parents=True)
    for number in range(CHALLENGES):
        source = sources[number % len(sources)]
        id = f"{source}_{number}"
        folder = root / "challenges" / id
        folder.mkdir(parents=True)
        text = (ROOT / "challenges" / source / "challenge.toml").read_text(encoding="utf-8")
        text = re.sub("^shares = .*\n", "", text, flags=re.MULTILINE)  # only rubrics are here
        (folder / "challenge.toml").write_text(text.replace(f'id = "{source}"', f'id = "{id}"', 1), encoding="utf-8")
        challenge = Workspace(root).challenge(id)
        for index in range(models):
            copied(root, challenge, source, SUBMISSIONS[index % len(SUBMISSIONS)], f"model-{index:02}", draw)


def copied(root: Path, challenge: Challenge, source: str, base: str, model: str, draw: random.Random) -> None:
    """A bundled record and its files under another name; where it builds, some criteria turn out otherwise."""
    kept = read_stored(ROOT / "reports" / "records" / source / f"{base}.json", Record)
    evidence = [other(e, draw) if kept.status is Status.GRADED else e for e in kept.evidence]
    scored = score(challenge, evidence, built=kept.status is Status.GRADED)
    record = Record.model_validate(
        dict(kept) | {
            "model": model, "challenge": challenge.id, "provenance": Provenance.MODEL_OUTPUT, "origin": None,
            "evidence": evidence,
            "overall": scored.overall, "dimensions": scored.dimensions, "gates": scored.gates,
        }
    )  # fmt: skip
    path = Workspace(root).record_path(model, challenge.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(record.to_json(), encoding="utf-8")
    folder = root / "submissions" / model / challenge.id
    shutil.copytree(ROOT / "submissions" / "baseline" / source, folder)
    reviews = ROOT / "submissions" / "collections" / "llm_programming_tests" / base / source / "reviews"
    if reviews.is_dir():
        shutil.copytree(reviews, folder / "reviews")
    for review in (folder / "reviews").glob("*.toml"):
        text = review.read_text(encoding="utf-8")
        text = text.replace(f'"{base}"', f'"{model}"').replace(f'"{source}"', f'"{challenge.id}"')
        review.write_text(text, encoding="utf-8")


def other(evidence: Evidence, draw: random.Random) -> Evidence:
    """Sometimes the opposite of what was seen."""
    if evidence.outcome is Outcome.PASSED and draw.random() < FAILS:
        return evidence.model_copy(update={"outcome": Outcome.FAILED, "title": "drawn for this benchmark"})
    return evidence


@dataclass(frozen=True)
class Marks:
    """One model's mark on one challenge."""

    model: str
    challenge: str
    overall: Score
    provenance: Provenance = Provenance.MODEL_OUTPUT
    status: Status = Status.GRADED
    ranked: bool = True

    @property
    def dimensions(self) -> dict[str, Score]:
        """None are needed for a rank."""
        return {}


def ranking() -> None:
    """A thousand models, each marked on a hundred challenges, after a hundred thousand matches."""
    draw = random.Random(7)
    models, challenges = [f"m{n:03}" for n in range(RANKED)], [f"c{n:02}" for n in range(ON)]
    skill = {model: draw.gauss(50, 15) for model in models}
    marked = list(drawn_marks(models, challenges, skill, draw))
    known = {(one.model, one.challenge): one.overall.score for one in marked}
    matches = []
    for _ in range(MATCHES):
        challenge, (left, right) = draw.choice(challenges), draw.sample(models, 2)
        matches.append(Duel(challenge, left, right, known[left, challenge], known[right, challenge], 30))
    start = time.perf_counter()
    order = standings(marked, challenges, matches)
    print(f"{RANKED} models, {MATCHES} matches    {time.perf_counter() - start:7.2f} s  first {order[0].model}")


def drawn_marks(
    models: Sequence[str], challenges: Sequence[str], skill: dict[str, float], draw: random.Random
) -> Iterable[Marks]:
    """Marks around each model's skill."""
    for model in models:
        for challenge in challenges:
            mark = float(round(min(max(draw.gauss(skill[model], 10), 0), 100)))
            yield Marks(model, challenge, Score(score=mark, low=mark, high=mark, coverage=0.9))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        bundled(Path(folder))
        synthetic(Path(folder))
    ranking()
