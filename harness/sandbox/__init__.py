"""The sandbox, whose workers run every line of a submission."""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.model import Tier
    from harness.sandbox.inside.wire import InputUse, RemoteFunction, RemoteObject, ServedFunction
    from harness.sandbox.session.command import CommandLimit, Completed, run
    from harness.sandbox.session.reply import CallStatus, Reply, ServedUse
    from harness.sandbox.session.returns import Array, Keep, Nothing, Plan, Scalar, Tree
    from harness.sandbox.session.snapshots import Snapshot, has_line, hash_folder, read_folder, snapshot
    from harness.sandbox.session.tiers import detect
    from harness.sandbox.session.worker_session import WorkerSession, start_fork_server
    from harness.sandbox.session.worker_spec import WorkerSpec

_MODULES = {
    "harness.model": ("Tier",),
    "harness.sandbox.inside.wire": ("InputUse", "RemoteFunction", "RemoteObject", "ServedFunction"),
    "harness.sandbox.session.worker_session": ("WorkerSession", "start_fork_server"),
    "harness.sandbox.session.command": ("CommandLimit", "Completed", "run"),
    "harness.sandbox.session.reply": ("CallStatus", "Reply", "ServedUse"),
    "harness.sandbox.session.returns": ("Array", "Keep", "Nothing", "Plan", "Scalar", "Tree"),
    "harness.sandbox.session.snapshots": ("Snapshot", "has_line", "hash_folder", "read_folder", "snapshot"),
    "harness.sandbox.session.tiers": ("detect",),
    "harness.sandbox.session.worker_spec": ("WorkerSpec",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Array", "CallStatus", "CommandLimit", "Completed", "InputUse", "Keep", "Nothing", "Plan", "RemoteFunction",
    "RemoteObject", "Reply", "Scalar", "ServedFunction", "ServedUse", "Snapshot", "Tier", "Tree", "WorkerSession",
    "WorkerSpec", "detect", "has_line", "hash_folder", "read_folder", "run", "snapshot", "start_fork_server",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # loaded on first use: a grading process must protect itself before it spends a second on NumPy
    if name == "Box":
        warnings.warn("harness.sandbox.Box is now WorkerSession", DeprecationWarning, stacklevel=2)
        name = "WorkerSession"
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
