"""Registry of executors by name."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.errors import NotFoundError, SpecError, nearest
from harness.executors.base import Executor
from harness.executors.local import LocalExecutor
from harness.grading.options import Options
from harness.workspace import Workspace


@dataclass(frozen=True)
class ExecutorKind:
    """One way to run many grades.

    Attributes:
        make: factory; takes the number of parallel grades and the cluster's address last.
        batch: default number of parallel grades for a program that grades many; None for the executor's own.
        enter: function that connects to the machines at an address; None if this one grades.
    """

    make: Callable[[Workspace, Options, int | None, str | None], Executor]
    batch: Callable[[], int | None]
    enter: Callable[[str | None], object] | None = None


def new_executor(
    kind: str, workspace: Workspace, options: Options, jobs: int | None = None, address: str | None = None
) -> Executor:
    """Return a new executor.

    Args:
        jobs: None for the executor's own number.

    Raises:
        NotFoundError: the kind is unknown.
        SpecError: the executor takes no address.
        PrerequisiteError: a package is missing.
    """
    return executor_kind(kind).make(workspace, options, jobs, address)


def executor_kind(kind: str) -> ExecutorKind:
    """Look up an executor by name.

    Raises:
        NotFoundError: the name is unknown.
    """
    if kind not in EXECUTORS:
        raise NotFoundError(f"no executor {kind!r}{nearest(kind, EXECUTORS)}\n  executors are {', '.join(EXECUTORS)}")
    return EXECUTORS[kind]


def _make_local(workspace: Workspace, options: Options, jobs: int | None, address: str | None) -> Executor:
    if address is not None:
        raise SpecError("address", f"is {address!r}, but the executor local has none", hint="try: --executor ray")
    return LocalExecutor(workspace, options, jobs or 1)


def _make_ray(workspace: Workspace, options: Options, jobs: int | None, address: str | None) -> Executor:
    from harness.executors.ray_cluster.executor import RayExecutor

    return RayExecutor(workspace, options, jobs, address)


def _enter_ray(address: str | None) -> None:
    from harness.executors.ray_cluster.cluster import enter

    enter(address)


EXECUTORS: Mapping[str, ExecutorKind] = {
    "local": ExecutorKind(_make_local, lambda: len(os.sched_getaffinity(0))),
    "ray": ExecutorKind(_make_ray, lambda: None, _enter_ray),
}
