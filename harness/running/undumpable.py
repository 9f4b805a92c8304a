"""What the grader does to itself before anything hostile runs beside it."""

from harness.sandbox.boot import process_control


def make_undumpable() -> None:
    """Close this process's memory, descriptors and environment to other processes of the same user.

    For programs of our own: a debugger cannot attach afterwards, and no core is dumped, which is not ours to decide
    for a program that uses the library.
    """
    process_control.prctl(process_control.SET_DUMPABLE, 0)
