"""The taskset under a top-level module name, which verifiers uses as its id."""

from harness.integrations.verifiers_tasks import KernelTaskset

__all__ = ["KernelTaskset"]
