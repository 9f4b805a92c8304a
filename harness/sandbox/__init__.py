"""The sandbox: every line of a submission runs in one of its worker processes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.model import Tier
    from harness.sandbox.boot.wire import InputUse, RemoteFunction, RemoteObject, ServedFunction
    from harness.sandbox.box import Box, start_fork_server
    from harness.sandbox.command import CommandLimit, Completed, run
    from harness.sandbox.reply import CallStatus, Reply, ServedUse
    from harness.sandbox.returns import Array, Keep, Nothing, Plan, Scalar, Tree
    from harness.sandbox.snapshots import Snapshot, has_line, hash_folder, read_folder, snapshot
    from harness.sandbox.tiers import detect
    from harness.sandbox.worker_spec import WorkerSpec

_MODULES = {
    "harness.model": ("Tier",),
    "harness.sandbox.boot.wire": ("InputUse", "RemoteFunction", "RemoteObject", "ServedFunction"),
    "harness.sandbox.box": ("Box", "start_fork_server"),
    "harness.sandbox.command": ("CommandLimit", "Completed", "run"),
    "harness.sandbox.reply": ("CallStatus", "Reply", "ServedUse"),
    "harness.sandbox.returns": ("Array", "Keep", "Nothing", "Plan", "Scalar", "Tree"),
    "harness.sandbox.snapshots": ("Snapshot", "has_line", "hash_folder", "read_folder", "snapshot"),
    "harness.sandbox.tiers": ("detect",),
    "harness.sandbox.worker_spec": ("WorkerSpec",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Array",
    "Box",
    "CallStatus",
    "CommandLimit",
    "Completed",
    "InputUse",
    "Keep",
    "Nothing",
    "Plan",
    "RemoteFunction",
    "RemoteObject",
    "Reply",
    "Scalar",
    "ServedFunction",
    "ServedUse",
    "Snapshot",
    "Tier",
    "Tree",
    "WorkerSpec",
    "detect",
    "has_line",
    "hash_folder",
    "read_folder",
    "run",
    "snapshot",
    "start_fork_server",
]


def __getattr__(name: str) -> Any:
    # loaded on first use: a grading process must protect itself before it spends a second on NumPy
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
