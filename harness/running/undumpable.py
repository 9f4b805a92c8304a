"""What the grader does to itself before anything hostile runs beside it."""

from harness.sandbox.boot import process_control


def make_undumpable() -> None:
    """Close this process's memory, descriptors and environment to other processes of the same user.

    For the harness's own programs: a debugger cannot attach afterwards, and no core is dumped. A program that uses
    the library decides that for itself.
    """
    process_control.prctl(process_control.SET_DUMPABLE, 0)
