"""Protection of the grader from hostile processes."""

from harness.sandbox.inside import process_control


def make_undumpable() -> None:
    """Close this process's memory, descriptors and environment to other processes of the same user.

    Debuggers and core dumps stop working, too. Only for the harness's own programs.
    """
    process_control.prctl(process_control.SET_DUMPABLE, 0)
