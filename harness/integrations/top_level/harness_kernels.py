"""The taskset under the top-level name that verifiers uses as its id."""

from harness.integrations.verifiers_tasks import KernelTaskset

__all__ = ["KernelTaskset"]
