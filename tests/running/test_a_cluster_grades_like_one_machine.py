"""A Ray cluster grades like one machine: the same records, none lost, none twice, whatever dies on the way.

Against real Ray with nodes on the loopback address. The answers are those of the toy challenge.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from clusters import distinct, workspace_with
from kill_and_resume import PROBES as SAME_EACH_RUN
from kill_and_resume import plain

import harness
from harness.errors import PrerequisiteError
from harness.executors.base import grade_all
from harness.executors.ray_cluster.executor import FOLLOWERS
from harness.executors.registry import new_executor
from harness.grading.options import Options
from harness.grading.submission_grade import Graded, grade_one
from harness.model import Outcome, Record, Status
from harness.model.submissions.name import SubmissionName
from harness.store.record_store import Store
from harness.workspace import Workspace
from tests.commands import command, environment, started
from tests.ray_nodes import ON_RAY, LocalNodes, local_nodes
from tests.toy import CHALLENGE_ID, REFERENCE, SUBMISSION, add_submission

pytest.importorskip("ray", reason="no ray (240 MB installed): .venv/bin/python -m pip install -e '.[ray]'")
pytestmark = ON_RAY

README = Path(__file__).parents[2] / "README.md"
SCALING = README.parent / "docs" / "scaling.md"
WRONG = REFERENCE.replace("x.sum", "x[:, 1:].sum")
BROKEN = "import nothing_of_that_name\n"
FATAL = "\n# ends the process that grades it\n"
TRAP = f"""
    import os, signal
    source = getattr(answer, "target", None)
    if source and {FATAL.strip()!r} in (source.folder / source.entry).read_text():
        os.kill(os.getpid(), signal.SIGKILL)
"""
"""In place of an answer that gets its grader killed, which none is known to: trusted code that does it."""


def on(nodes: LocalNodes, workspace: Workspace, folders: list[Path] | None = None, **options: Any) -> list[Any]:
    """Results of grading on a cluster."""
    executor = new_executor("ray", workspace, Options(**options), None, nodes.address)
    return list(grade_all(executor, workspace.submissions() if folders is None else folders))


def by_model(results: list[Any]) -> dict[str, Record]:
    assert all(isinstance(result, Graded) for result in results), results
    return {result.record.model: result.record for result in results}


def figures(record: Record) -> Any:
    return plain(json.loads(record.to_json()))


def test_the_records_are_those_of_one_machine(two: LocalNodes, tmp_path: Path) -> None:
    answers = {"right": REFERENCE, "wrong": WRONG, "broken": BROKEN}
    here, there = (workspace_with(tmp_path / name, answers) for name in ("here", "there"))
    outside = tmp_path / "outside"
    shutil.copytree(here.submissions_folder / "wrong" / CHALLENGE_ID, outside)
    (outside / "submission.toml").write_text(SUBMISSION.format(model="outsider"))
    cluster = by_model(on(two, there, [*there.submissions(), outside]))
    for folder in (*here.submissions(), outside):
        local = grade_one(here, folder).record
        assert figures(cluster[local.model]) == figures(local)
    assert cluster["outsider"].outside and not cluster["right"].outside
    assert [r.model for r in there.records()] == ["broken", "outsider", "right", "wrong"]
    again = on(two, there)
    assert [r.reused for r in again] == [True] * 3


def resident() -> int:
    """MiB of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") >> 20


def test_duplicates_in_one_batch_are_graded_once(two: LocalNodes, tmp_path: Path) -> None:
    """However many they are: in their order, with others between them, in memory that does not grow."""
    workspace, count, others = workspace_with(tmp_path / "w", {}), 1500, {3, 400, 1499}
    assert count > FOLLOWERS
    folders = [tmp_path / str(number) for number in range(count)]
    for number, folder in enumerate(folders):
        folder.mkdir()
        (folder / "submission.toml").write_text(SUBMISSION.format(model="m"))
        (folder / "answer.py").write_text(f"{WRONG}# {number}\n" if number in others else REFERENCE)
    grades, rewards, held = set(), [], []
    for record in harness.grade_stream(
        folders, workspace=workspace.root, executor="ray", address=two.address, profile="reward"
    ):
        grades.add((record.key, record.seed, record.made))
        rewards.append(record.reward)
        held.append(resident())
    assert rewards == [float(number not in others) for number in range(count)]
    assert len(grades) == 1 + len(others) == sum(1 for _ in Store(workspace).records())
    assert held[-1] - held[0] < 16


def test_nothing_is_imported_from_the_folder_the_driver_is_in(two: LocalNodes, tmp_path: Path) -> None:
    """Ray puts the driver's current folder first on its workers' path, and that folder may be a submission's."""
    workspace, mark = workspace_with(tmp_path / "w", {}), tmp_path / "imported"
    folder = add_submission(workspace, "trap", REFERENCE)
    for name in ("harness.py", "json.py", "numpy.py", "sitecustomize.py"):
        (folder / name).write_text(f"open({str(mark)!r}, 'w').close()\nraise SystemExit(9)\n")
    done = started(workspace.root, "grade", ".", "--executor", "ray", "--address", two.address, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert not mark.exists() and workspace.record(f"trap/{CHALLENGE_ID}").status is Status.GRADED


def test_an_answer_reaches_no_port_of_the_node(two: LocalNodes, tmp_path: Path) -> None:
    """What it returns tells whether it could connect: the ports are open to everybody else on this machine."""
    ports = sorted(listening_ports())
    head = int(two.address.rpartition(":")[2])
    assert head in ports
    socket.create_connection(("127.0.0.1", head), 5).close()
    attempt = f"""
import socket
import numpy as np

def scaled(x, scale):
    for host in ("127.0.0.1", {two.address.rpartition(":")[0]!r}):
        for port in {ports!r}:
            try:
                socket.create_connection((host, port), 1).close()
            except OSError:
                continue
            return np.zeros(len(x))
    return x.sum(axis=-1) * scale
"""
    workspace = workspace_with(tmp_path / "w", {"curious": attempt})
    assert by_model(on(two, workspace))["curious"].overall.score == 100


def listening_ports() -> set[int]:
    """TCP ports that somebody listens on here."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for row in Path(table).read_text().splitlines()[1:]:
            _, local, _, state, *_ = row.split()
            if state == "0A":
                found.add(int(local.rpartition(":")[2], 16))
    return found


def test_what_kills_two_workers_is_judged_once_the_reference_survives(two: LocalNodes, tmp_path: Path) -> None:
    probes = SAME_EACH_RUN.replace("    x = np.arange", f"{TRAP}    x = np.arange", 1)
    workspace = workspace_with(tmp_path, {"fatal": REFERENCE + FATAL, **distinct(3)}, probes)
    records = by_model(on(two, workspace))
    assert [records[f"m{number}"].overall.score for number in range(3)] == [100, 100, 100]
    fatal = records["fatal"]
    assert (fatal.status, fatal.overall.score, fatal.reward) == (Status.GRADED, 0, 0)
    (finding,) = fatal.findings
    assert finding.title == "kills its worker" and finding.detail.count("signal 9 on") == 2
    assert fatal == Store(workspace).find(fatal.key), "and is not graded again"


def test_a_node_that_kills_every_worker_judges_no_answer(two: LocalNodes, tmp_path: Path) -> None:
    probes = SAME_EACH_RUN.replace("    x = np.arange", "    import os; os.kill(os.getpid(), 9)\n    x = np.arange", 1)
    workspace = workspace_with(tmp_path, {"right": REFERENCE}, probes)
    record = by_model(on(two, workspace))["right"]
    assert record.status is Status.JUDGE_ERROR and "nor is the reference graded there" in str(record.error)
    assert {e.outcome for e in record.evidence} == {Outcome.JUDGE_ERROR}


def test_a_killed_node_costs_no_grade(tmp_path: Path) -> None:
    """Its answers go to the others; a node that joins is taken up."""
    workspace = workspace_with(tmp_path, distinct(12))
    with local_nodes(1, 1) as nodes:
        executor = new_executor("ray", workspace, Options(), None, nodes.address)
        results, places = [], set()
        for result in grade_all(executor, workspace.submissions(), lambda folder, stage: places.add(stage)):
            results.append(result)
            if len(results) == 2:
                nodes.add(1)
                nodes.kill(nodes.nodes[0])
    records = by_model(results)
    assert len(results) == len(records) == 12 and {r.overall.score for r in records.values()} == {100}
    assert len(places) >= 2


def test_a_failure_of_ours_goes_to_another_node_first(tmp_path: Path) -> None:
    """So does what a node lacks; the record says where in the end it was made."""
    fault = """
    import os
    kind = os.environ.get("TEST_NODE")
    if kind:
        raise getattr(__import__("harness.errors").errors, kind)("ours")
    x = np.arange"""
    probes = SAME_EACH_RUN.replace("    x = np.arange", fault.removeprefix("\n"), 1)
    for kind in ("BoxError", "PrerequisiteError"):
        workspace = workspace_with(tmp_path / kind, distinct(3), probes)
        with local_nodes(1) as nodes:
            nodes.add(1, TEST_NODE=kind)
            results = on(nodes, workspace)
        assert [r.record.overall.score for r in results] == [100, 100, 100]


def test_what_a_clock_decides_runs_only_where_the_resource_says_so(tmp_path: Path) -> None:
    """Without such a node it is not measured, and the coverage says so; nobody waits for ever."""
    probes = SAME_EACH_RUN.replace('@probe({"B": 4, "D": 5})', '@probe({"B": 4, "D": 5}, times=True)')
    workspace = workspace_with(tmp_path, distinct(3), probes)
    with local_nodes(1) as nodes:
        untimed = by_model(on(nodes, workspace))
        for record in untimed.values():
            outcomes = {e.criterion: e.outcome for e in record.evidence}
            assert outcomes == {"values": Outcome.PASSED, "linear": Outcome.NOT_RUN}
            assert record.overall.coverage == 0.625
        assert all(r.reused for r in on(nodes, workspace))
        nodes.add(2, timing=1)
        stages: list[str] = []
        executor = new_executor("ray", workspace, Options(), None, nodes.address)
        timed = list(grade_all(executor, workspace.submissions(), lambda folder, stage: stages.append(stage)))
    assert {r.record.overall.coverage for r in timed} == {1.0} and len(set(stages)) == 1, "one node, one at a time"


def test_a_node_with_another_harness_grades_nothing(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path / "w", distinct(2))
    other = tmp_path / "other"
    shutil.copytree(Path(harness.__file__).parent, other / "harness", ignore=shutil.ignore_patterns("__pycache__"))
    source = other / "harness" / "__init__.py"
    with local_nodes() as nodes:
        nodes.add(1, PYTHONPATH=str(other))
        source.write_text(source.read_text() + "\n# changed\n")
        with pytest.raises(PrerequisiteError, match="has other source code than the one here"):
            on(nodes, workspace)
        source.write_text(source.read_text().replace(harness.__version__, "0.0.9"))
        with pytest.raises(PrerequisiteError, match=f"it has harness 0.0.9, this machine {harness.__version__}"):
            on(nodes, workspace)
        nodes.add(1)
        assert [r.record.overall.score for r in on(nodes, workspace)] == [100, 100]


def test_a_killed_driver_goes_on_where_it_was(two: LocalNodes, tmp_path: Path) -> None:
    """What was finished is not graded again, what was not is; nothing of it is left running."""
    workspace = workspace_with(tmp_path, distinct(8))
    line = command("grade", "--all", "--executor", "ray", "--address", two.address)
    run = subprocess.Popen(line, env=environment(workspace.root), stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while len(list(workspace.records_folder.glob("*/*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    before = {record.model: record for record in workspace.records()}
    # one may be in the store, where it counts as finished, and not published yet
    kept = sum(Store(workspace).count(SubmissionName(f"m{number}", CHALLENGE_ID)) for number in range(8))
    assert 2 <= len(before) <= kept <= len(before) + 1 < 9
    done = started(workspace.root, *line[4:])
    assert done.returncode == 0, done.stderr
    after = {record.model: record for record in workspace.records()}
    assert len(after) == 8 and all(after[model] == record for model, record in before.items())
    assert sum(line.startswith("reused: ") for line in done.stderr.splitlines()) == kept


def test_the_readme_shows_what_works(tmp_path: Path) -> None:
    """Its commands, word for word, on two nodes of this machine, and the function of `docs/scaling.md` there."""
    (block,) = re.findall(r"## More than one machine\n+```console\n(.*?)```", README.read_text(), re.DOTALL)
    pip, head, node, grade = [re.sub(r"\s+#.*", "", line).removeprefix("$ ") for line in block.splitlines()]
    assert pip.startswith("pip install ")
    address = f"127.0.0.1:{free_port()}"
    workspace = workspace_with(tmp_path / "w", distinct(4))
    # short: the names of Ray's sockets are bounded
    with TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as place, ExitStack() as stack:
        for start in (head, node):
            here = start.replace("HEAD:6379", address).replace("6379", address.partition(":")[2])
            stack.enter_context(kept_up(here.split()[1:], Path(place)))
        words = grade.replace("HEAD:6379", address).split()
        done = started(workspace.root, *words[1:])
        assert done.returncode == 0, done.stderr
        nodes = set(re.findall(r"by this cluster, on (\S+)", done.stderr))
        assert len(workspace.records()) == 4 and len(nodes) == 2, done.stderr
        shown: dict[str, Any] = {}
        (function,) = re.findall(r"```python\n(.*?)```", SCALING.read_text(), re.DOTALL)
        exec(compile(function, str(SCALING), "exec"), shown)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HARNESS_WORKSPACE", str(workspace.root))
            assert shown["rewards"](workspace.submissions(), CHALLENGE_ID, address) == [1.0] * 4


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def kept_up(line: list[str], place: Path) -> Iterator[None]:
    """`ray start` in the foreground, so that what it starts ends with it; `ray stop` would end every cluster here."""
    variables = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": str(place)} if "--head" in line else {}
    words = [str(Path(sys.executable).with_name("ray")), *line, "--block"]
    with (place / "log").open("a+") as log:
        process = subprocess.Popen(words, env={**os.environ, **variables}, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 90
            while "Ray runtime started" not in (text := (place / "log").read_text()[-4000:]):
                assert process.poll() is None and time.monotonic() < deadline, text
                time.sleep(0.2)
            log.truncate(0)
            yield
        finally:
            process.terminate()
            process.wait(60)


def test_without_a_cluster_the_message_says_what_to_do(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, distinct(1))
    done = started(workspace.root, "grade", "--all", "--executor", "ray", "--address", "127.0.0.1:1")
    assert done.returncode == 3 and "no Ray cluster at 127.0.0.1:1" in done.stderr
    assert "ray start --head" in done.stderr and "Traceback" not in done.stderr
