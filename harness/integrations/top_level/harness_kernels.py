"""The challenges under a name that verifiers finds: a taskset's id there is that of a top-level module."""

from harness.integrations.verifiers_tasks import KernelTaskset

__all__ = ["KernelTaskset"]
