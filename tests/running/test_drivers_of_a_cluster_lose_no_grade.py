"""Drivers of a Ray cluster that share a store, find its disk full or have another clock: no grade is lost or misdated.

Against real Ray with nodes on the loopback address. The answers are those of the toy challenge.
"""

import os
import re
import shlex
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from clusters import distinct, workspace_with

from harness.executors.base import grade_all
from harness.executors.registry import new_executor
from harness.grading.options import Options
from harness.grading.submission_grade import Graded, now
from harness.store.database import GOES_ON
from harness.store.record_store import Store
from tests.commands import command, environment
from tests.mounts import MOUNTED, mounts_work
from tests.ray_nodes import ON_RAY, LocalNodes, local_nodes

pytest.importorskip("ray", reason="no ray (240 MB installed): .venv/bin/python -m pip install -e '.[ray]'")
pytestmark = ON_RAY


def test_grades_that_ended_together_are_all_saved_before_one_is_handed_out(tmp_path: Path) -> None:
    """Whoever takes the first of them and stops has lost none."""
    import ray

    workspace, taken = workspace_with(tmp_path, distinct(12)), 0
    store = Store(workspace)
    with local_nodes(1, 1, 1) as nodes:
        executor = new_executor("ray", workspace, Options(), None, nodes.address)
        results = grade_all(executor, workspace.submissions())
        under_way: list[object] = []
        while len(under_way) < 2 or taken < len(list(store.records())):
            next(results)
            taken, under_way = taken + 1, list(executor._grading)
        assert len(ray.wait(under_way, num_returns=len(under_way), timeout=60)[0]) == len(under_way)
        next(results)
        results.close()
    assert len(list(store.records())) == taken + len(under_way)


def test_two_drivers_on_one_store_lose_nothing(two: LocalNodes, tmp_path: Path) -> None:
    """Each bounded to one of two processors, with the same answers; some are graded by both, and that does no harm."""
    workspace, names = workspace_with(tmp_path, distinct(24)), {f"m{number}" for number in range(24)}
    line = command("grade", "--all", "--executor", "ray", "-j", "1", "--address", two.address)
    runs = [
        subprocess.Popen(
            line, env=environment(workspace.root), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = [run.communicate()[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    graded, reused = ([set(re.findall(rf"^{how}: (m\d+)/", words, re.MULTILINE)) for words in said]
                      for how in ("graded", "reused"))  # fmt: skip
    assert graded[0] | graded[1] == names, "every one was graded by somebody"
    assert all(each | other == names for each, other in zip(graded, reused, strict=True))
    stored, published = list(Store(workspace).records()), workspace.records()
    assert len(stored) == len(published) == 24
    assert {record.overall.score for record in (*stored, *published)} == {100}


def test_a_full_disk_of_the_driver_loses_no_finished_grade(two: LocalNodes, tmp_path: Path) -> None:
    """The error names the file; what was graded before is kept, and the same command goes on once there is room."""
    if not mounts_work():
        pytest.skip("needs mount namespaces: root, or user namespaces for all")
    workspace = workspace_with(tmp_path / "w", distinct(2))
    run = shlex.join(command("grade", "--executor", "ray", "--address", two.address))
    store = shlex.quote(str(workspace.cache_folder))
    # the first grade finds room, the other none
    script = f"""
        mkdir {store}; mount -t tmpfs -o size=1m none {store}
        {run} m0; echo $?
        head -c 2m /dev/zero > {store}/filler || true
        {run} m0 m1; echo $?
        rm {store}/filler
        {run} m0 m1; echo $?
        cp {store}/records.sqlite* {shlex.quote(str(tmp_path))}"""
    done = subprocess.run(
        [*MOUNTED, "bash", "-c", script], env=environment(workspace.root), capture_output=True, text=True,
        timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    codes = [line for line in done.stdout.splitlines() if line.isdigit()]
    assert codes == ["0", "3", "0"], done.stderr
    file = workspace.cache_folder / "records.sqlite"
    assert f"{file}: cannot be written: No space left on device" in done.stderr
    assert f"make room there: df -h {workspace.cache_folder}; {GOES_ON}" in done.stderr
    assert re.findall(r"^reused: (m\d)/", done.stderr, re.MULTILINE)[-1] == "m0", "graded before the disk was full"
    assert len(workspace.records()) == 2
    with closing(sqlite3.connect(tmp_path / "records.sqlite")) as connection:
        assert connection.execute("SELECT COUNT(*) FROM records").fetchone() == (2,)


AHEAD = """
import datetime

class Ahead(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(hours=1)

datetime.datetime = Ahead
"""


def test_records_are_dated_by_the_drivers_clock(tmp_path: Path) -> None:
    """A node's may be an hour ahead: which record of a submission is the latest must not depend on that."""
    workspace, early = workspace_with(tmp_path / "w", distinct(2)), tmp_path / "early"
    early.mkdir()
    (early / "sitecustomize.py").write_text(AHEAD)
    path = os.pathsep.join([str(early), *filter(None, [os.environ.get("PYTHONPATH")])])
    says = "import datetime; print(datetime.datetime.now(datetime.UTC).timestamp())"
    told = subprocess.run([sys.executable, "-P", "-c", says], env={**os.environ, "PYTHONPATH": path},
                          capture_output=True, check=True)  # fmt: skip
    assert float(told.stdout) > time.time() + 3000, "the clock of such a process is ahead"
    begun = now()
    with local_nodes() as nodes:
        nodes.add(1, PYTHONPATH=path)
        executor = new_executor("ray", workspace, Options(), None, nodes.address)
        results = list(grade_all(executor, workspace.submissions()))
    records = list(Store(workspace).records())
    assert len(results) == len(records) == 2
    for record in (*(result.record for result in results if isinstance(result, Graded)), *records):
        assert begun <= record.made <= now()
    assert not Store(workspace).list_older(now())
