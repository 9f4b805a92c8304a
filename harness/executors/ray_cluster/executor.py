"""Grades on a Ray cluster: only this process, the driver, reads folders and writes the store."""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, JudgeError, PrerequisiteError, StoreError, as_own_error
from harness.executors.base import NotGraded, Progress
from harness.executors.ray_cluster.cluster import Cluster, NodeSlot, ray_module, spread
from harness.executors.ray_cluster.killed_workers import kills_its_worker
from harness.executors.ray_cluster.work import TaskReader, Work
from harness.grading.job import Job
from harness.grading.options import Options
from harness.grading.retry import RETRIES, record_failure
from harness.grading.submission_grade import Graded, keep, keep_all, now
from harness.model import Environment, Outcome, Record, Status
from harness.store.record_store import Store
from harness.workspace import Workspace

LOSSES = 10
"""Lost nodes or Ray workers per submission before our side counts as failed."""
WAIT_SECONDS = 0.5
"""Seconds to wait for a grade before the nodes are refreshed."""
AHEAD = 4
"""Fewest submissions read ahead of free slots."""
FOLLOWERS = 1000
"""Submissions waiting for a grade of the same files at which reading stops."""
TOGETHER = 16
"""Most grades saved in one transaction, which costs one disk sync without delaying slots for long."""

Result = Graded | NotGraded


class RayExecutor:
    """An `Executor` on every node of a Ray cluster.

    After a failure on our side another node tries. A submission is blamed for killing its graders if two processes die
    under it, the second alone on a node that then grades the reference well.

    Args:
        jobs: largest number of parallel grades; one per processor by default.
        address: see `cluster.enter`.

    Raises:
        PrerequisiteError: Ray is not installed.
    """

    def __init__(
        self, workspace: Workspace, options: Options, jobs: int | None = None, address: str | None = None
    ) -> None:
        ray_module()
        self._workspace, self._options, self._jobs, self._address = workspace, options, jobs, address
        self._folders: deque[Path] = deque()
        self._waiting: deque[Work] = deque()
        self._under_way: dict[str, Work] = {}
        self._grading: dict[Any, tuple[NodeSlot, Work]] = {}
        self._reserved: dict[str, Work] = {}
        self._following = 0
        self._made: list[tuple[Work, Record, str]] = []
        self._cluster: Cluster | None = None
        self._draining = False

    def submit(self, folder: Path) -> None:
        """Queue a submission; its files are read later."""
        self._folders.append(folder)

    def results(self, progress: Progress) -> Iterator[Result]:
        """Yield results in order of completion; hold the nodes until `cancel`.

        Raises:
            PrerequisiteError: the cluster is unreachable, or no node can grade; finished grades are kept.
        """
        if not self._folders:
            return
        cluster = self._cluster = self._cluster or Cluster(
            self._options, _list_languages(self._workspace), self._jobs, self._address
        )
        ray = ray_module()
        reader = TaskReader(self._workspace, self._options, ray.put)
        while self._folders or self._waiting or self._grading:
            if self._draining:
                self._folders.clear()
                self._waiting = deque(work for work in self._waiting if work.tried)
            cluster.look()
            yield from self._read(cluster, reader)
            yield from self._dispatch(cluster, progress)
            refs = [*self._grading, *cluster.starting]
            patience = 0.0 if self._count_room(cluster) else WAIT_SECONDS
            if not refs:
                time.sleep(patience)
                continue
            if ray.wait(refs, num_returns=1, timeout=patience)[0]:
                yield from self._collect(cluster, reader, refs)

    def drain(self) -> None:
        """See `Executor.drain`."""
        self._draining = True

    def cancel(self) -> None:
        """See `Executor.cancel`."""
        list(self._save_pending())  # saves records that arrived just before an interrupt
        self._folders.clear()
        self._waiting.clear()
        self._grading.clear()
        self._under_way.clear()
        self._following = 0
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.close()

    def places(self) -> str:
        """Return the number of nodes and of parallel grades."""
        cluster = self._cluster
        if cluster is None:
            return ""
        nodes, slots = len(cluster.nodes), sum(slot.ready for slot in cluster.slots)
        return f"{nodes} node{'s' * (nodes != 1)}, {slots} at a time"

    def _count_room(self, cluster: Cluster) -> int:
        slots = sum(slot.ready for slot in cluster.slots)
        if not slots or self._following >= FOLLOWERS:
            return 0
        # few at a time, to serve slots in between
        return max(0, min(max(slots, AHEAD) - len(self._waiting), len(self._folders)))

    def _read(self, cluster: Cluster, reader: TaskReader) -> Iterator[Result]:
        for _ in range(self._count_room(cluster)):
            folder = self._folders.popleft()
            try:
                work = reader.read(folder)
                earlier = self._find_earlier(cluster, work.job)
            except Exception as error:
                yield NotGraded(folder, as_own_error(error, folder))
                continue
            first = self._under_way.get(work.task.id)
            if earlier is not None:
                yield self._reuse(work.job, earlier, f"nothing changed since {earlier.made:%Y-%m-%d %H:%M:%S} UTC")
            elif first is not None:
                first.followers.append(work.job)
                self._following += 1
            else:
                if not self._options.force and self._options.seed is None:
                    self._under_way[work.task.id] = work
                self._waiting.append(work)

    def _find_earlier(self, cluster: Cluster, job: Job) -> Record | None:
        if self._options.force or self._options.seed is not None:
            return None
        store = Store(self._workspace)
        ways = [frozenset[str]()] if cluster.can_time or not job.timed else [frozenset[str](), job.timed]
        for left_out in ways:
            for where in cluster.environments(job.challenge.language):
                try:
                    found = store.find(job.key_in(where, left_out))
                except StoreError:  # reported when the record is written
                    return None
                if found is not None:
                    return found
        return None

    def _dispatch(self, cluster: Cluster, progress: Progress) -> Iterator[Result]:
        for work in [each for each in self._waiting if not cluster.best_for(each.language)]:
            if not cluster.undecided and cluster.nodes:
                self._waiting.remove(work)
                yield from self._fail_for_good(work, cluster.why_not(work.language))
        for slot in list(spread(cluster.slots)):
            found = next((work for work in self._sort_by_urgency(slot) if self._takes(cluster, slot, work)), None)
            if found is not None:
                self._waiting.remove(found)
                self._send(cluster, slot, found, progress)

    def _sort_by_urgency(self, slot: NodeSlot) -> list[Work]:
        return sorted(self._waiting, key=lambda work: not (slot.timing and work.job.timed))

    def _takes(self, cluster: Cluster, slot: NodeSlot, work: Work) -> bool:
        """Decide whether a slot takes the work; may reserve its node."""
        reserved = self._reserved.get(slot.node.id)
        if reserved is not None and reserved is not work:
            return False
        best = cluster.best_for(work.language, work.tried) or cluster.best_for(work.language)
        if slot.node not in best or (work.pinned and work.pinned != slot.node.id):
            return False
        if work.job.timed and cluster.can_time and not slot.timing:
            return False
        if not work.alone:
            return True
        if reserved is None and work in self._reserved.values():
            return False
        self._reserved[slot.node.id] = work
        return not any(other.busy for other in cluster.slots if other.node is slot.node)

    def _send(self, cluster: Cluster, slot: NodeSlot, work: Work, progress: Progress) -> None:
        untimed = not work.job.timed or not (slot.timing and cluster.can_time)
        work.task = replace(work.task, untimed=untimed)
        slot.busy, work.sent = True, now()
        self._grading[slot.actor.grade.remote(work.task)] = slot, work
        progress(work.job.files.path, f"on {slot.node.name}")

    def _collect(self, cluster: Cluster, reader: TaskReader, refs: Sequence[Any]) -> Iterator[Result]:
        ready, _ = ray_module().wait(refs, num_returns=min(len(refs), TOGETHER), timeout=0)
        failed: list[Result] = []
        for ref in ready:
            if ref in self._grading:
                failed += self._handle_end(cluster, reader, ref)
            else:
                cluster.handle_start(ref)
        # all are saved before the first is yielded: the caller may stop there
        yield from self._save_pending()
        yield from failed

    def _handle_end(self, cluster: Cluster, reader: TaskReader, ref: Any) -> Iterator[Result]:
        slot, work = self._grading.pop(ref)
        slot.busy = False
        self._reserved = {node: reserved for node, reserved in self._reserved.items() if reserved is not work}
        ray = ray_module()
        try:
            said = ray.get(ref)
        except ray.exceptions.RayError as error:
            cluster.lose(slot)
            yield from self._handle_loss(work, str(error))
            return
        if work.control_of is not None:
            yield from self._judge_control(slot, work.control_of, said)
        elif "died" in said:
            yield from self._handle_death(reader, slot, work, said["died"])
        elif "error" in said:
            yield from self._handle_error(cluster, slot, work, said)
        else:
            record = Record.from_json(said["record"])
            # the driver's clock: the store orders records by age, and the clocks of nodes may differ
            yield from self._accept_record(cluster, slot, work, record.model_copy(update={"made": work.sent}))

    def _handle_loss(self, work: Work, why: str) -> Iterator[Result]:
        work = self._pick_retry(work)
        work.losses += 1
        if work.losses > LOSSES:
            first = why.strip().partition("\n")[0]
            yield from self._fail_for_good(work, f"{work.losses} workers were lost under it, the last: {first}")
        else:
            self._waiting.appendleft(work)

    def _pick_retry(self, work: Work) -> Work:
        if work.control_of is None:
            return work
        work.control_of.deaths.pop()
        return work.control_of

    def _handle_death(self, reader: TaskReader, slot: NodeSlot, work: Work, status: int) -> Iterator[Result]:
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        work.deaths.append(f"{how} on {slot.node.name}")
        work.tried.add(slot.node.id)
        if len(work.deaths) == 1:
            work.alone = True
            self._waiting.appendleft(work)
            return
        control = reader.control(work)
        if control is None:
            yield from self._fail_for_good(
                work, f"{_list_deaths(work)}; no reference to tell by whether the node does it"
            )
            return
        control.pinned = slot.node.id
        self._waiting.appendleft(control)

    def _judge_control(self, slot: NodeSlot, work: Work, said: dict[str, Any]) -> Iterator[Result]:
        graded = Record.from_json(said["record"]) if "record" in said else None
        if graded is None or graded.status is not Status.GRADED:
            yield from self._fail_for_good(work, f"{_list_deaths(work)}; nor is the reference graded there")
            return
        left_out = work.job.timed if work.task.untimed else frozenset()
        record = kills_its_worker(work.job, self._get_environment(slot, work), left_out, work.deaths)
        self._made.append((work, record, _list_deaths(work)))

    def _handle_error(self, cluster: Cluster, slot: NodeSlot, work: Work, said: dict[str, Any]) -> Iterator[Result]:
        message, kinds = said["error"], said["kinds"]
        work.tried.add(slot.node.id)
        elsewhere = bool(cluster.best_for(work.language, work.tried))
        if "JudgeError" in kinds:
            work.failures.append(f"{message} (on {slot.node.name})")
            if len(work.failures) <= RETRIES and "BusyMachineError" not in kinds:
                self._waiting.appendleft(work)
            else:
                yield from self._fail_for_good(work, f"{work.failures[-1]}\n  tried {len(work.failures)} times")
        elif "PrerequisiteError" in kinds and elsewhere:
            self._waiting.appendleft(work)
        else:
            error = PrerequisiteError(message) if "PrerequisiteError" in kinds else HarnessError(message)
            yield from self._finish(work, lambda job: NotGraded(job.files.path, error))

    def _accept_record(self, cluster: Cluster, slot: NodeSlot, work: Work, record: Record) -> Iterator[Result]:
        left_out = work.job.timed if work.task.untimed else frozenset[str]()
        if record.key != work.job.key_in(self._get_environment(slot, work), left_out):
            said = {"error": "what came back is no record of what was sent", "kinds": ["JudgeError"]}
            yield from self._handle_error(cluster, slot, work, said)
            return
        work.tried.add(slot.node.id)
        may_retry = record.status is Status.JUDGE_ERROR and len(work.failures) < RETRIES
        if may_retry and cluster.best_for(work.language, work.tried):
            work.failures.append(f"{record.error} (on {slot.node.name})")
            self._waiting.appendleft(work)
            return
        self._keep_seeds(work.job, record)
        after = f", after: {work.failures[-1].partition(chr(10))[0]}" if work.failures else ""
        forced = "forced" if self._options.force else "not graded before in this state by this cluster"
        self._made.append((work, record, f"{forced}, on {slot.node.name}{after}"))

    def _get_environment(self, slot: NodeSlot, work: Work) -> Environment:
        return slot.node.environments[work.language]

    def _keep_seeds(self, job: Job, record: Record) -> None:
        if job.options.seed is None and not job.brief:
            for item in record.evidence:
                if item.outcome is Outcome.FAILED and item.draws and item.draws.failed and item.seed is not None:
                    job.failing_seeds.keep(item.criterion, item.seed)

    def _save_pending(self) -> Iterator[Result]:
        made, self._made = self._made, []
        own = [record.model_copy(update={"outside": work.job.outside}) for work, record, _ in made]
        options = [work.job.options for work, _, _ in made]
        errors = keep_all(self._workspace, list(zip(options, own, strict=True)))
        for (work, record, reason), saved, error in zip(made, own, errors, strict=True):
            yield from self._finish(work, partial(self._make_result, work, record, saved, reason, error))

    def _make_result(self, work: Work, record: Record, saved: Record, reason: str, error: str, job: Job) -> Result:
        if job is work.job:
            return Graded(job.files.path, saved, False, reason, error)
        return self._reuse(job, record, "the same files were graded in this run", error)

    def _reuse(self, job: Job, record: Record, reason: str, save_error: str = "") -> Graded:
        own = record.model_copy(update={"outside": job.outside})
        error = keep(self._workspace, replace(job.options, stored=False), own)
        return Graded(job.files.path, own, True, reason, error or save_error)

    def _fail_for_good(self, work: Work, failure: str) -> Iterator[Result]:
        def result(job: Job) -> Result:
            try:
                return record_failure(self._workspace, job.files.path, self._options, failure)
            except JudgeError as error:
                return NotGraded(job.files.path, error)

        yield from self._finish(work, result)

    def _finish(self, work: Work, result: Callable[[Job], Result]) -> Iterator[Result]:
        self._under_way.pop(work.task.id, None)
        self._following -= len(work.followers)
        for job in (work.job, *work.followers):
            yield result(job)


def _list_deaths(work: Work) -> str:
    return f"{len(work.deaths)} grading processes died under it ({', '.join(work.deaths)})"


def _list_languages(workspace: Workspace) -> list[str]:
    found = set()
    for id in workspace.challenges():
        with contextlib.suppress(HarnessError):
            found.add(workspace.challenge(id).language)
    return sorted(found)
