"""The executors by name: the one place that knows which there are."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.errors import NotFoundError, SpecError, nearest
from harness.running.executor import Executor
from harness.running.local import LocalExecutor
from harness.running.options import Options
from harness.workspace import Workspace


@dataclass(frozen=True)
class ExecutorKind:
    """One way to run many grades.

    Attributes:
        make: an executor for a workspace, options, a number of grades at a time (None for its own) and an address.
        batch: how many grades at a time where a program grades many and says nothing; None for the executor's own.
        enter: reaches the machines at an address for the rest of this process, so that executors made later share
            them; None for an executor of this machine alone.
    """

    make: Callable[[Workspace, Options, int | None, str | None], Executor]
    batch: Callable[[], int | None]
    enter: Callable[[str | None], object] | None = None


def new_executor(
    kind: str, workspace: Workspace, options: Options, jobs: int | None = None, address: str | None = None
) -> Executor:
    """An executor by its name.

    Args:
        kind: one of `EXECUTORS`.
        workspace: where the challenges are.
        options: how to grade.
        jobs: how many grades at a time; the executor's own number by default.
        address: of the cluster, for an executor that has one.

    Raises:
        NotFoundError: no executor of that name.
        SpecError: it has no address.
        PrerequisiteError: what it needs is not installed.
    """
    return executor_kind(kind).make(workspace, options, jobs, address)


def executor_kind(kind: str) -> ExecutorKind:
    """What is known of an executor.

    Raises:
        NotFoundError: no executor of that name.
    """
    if kind not in EXECUTORS:
        raise NotFoundError(f"no executor {kind!r}{nearest(kind, EXECUTORS)}\n  executors are {', '.join(EXECUTORS)}")
    return EXECUTORS[kind]


def _local(workspace: Workspace, options: Options, jobs: int | None, address: str | None) -> Executor:
    if address is not None:
        raise SpecError("address", f"is {address!r}, but the executor local has none", hint="try: --executor ray")
    return LocalExecutor(workspace, options, jobs or 1)


def _ray(workspace: Workspace, options: Options, jobs: int | None, address: str | None) -> Executor:
    from harness.running.ray_cluster.executor import RayExecutor

    return RayExecutor(workspace, options, jobs, address)


def _enter_ray(address: str | None) -> None:
    from harness.running.ray_cluster.cluster import enter

    enter(address)


EXECUTORS: Mapping[str, ExecutorKind] = {
    "local": ExecutorKind(_local, lambda: len(os.sched_getaffinity(0))),
    "ray": ExecutorKind(_ray, lambda: None, _enter_ray),
}
