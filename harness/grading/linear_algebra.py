"""Thread count of the grader's own linear algebra."""

import os

_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def compute_in_one_thread() -> None:
    """Limit NumPy, if imported later, to one thread, unless the user set a number.

    Waiting for other threads takes a third of a grade's processor time, as arrays are small. Only for the harness's own
    programs.
    """
    for name in _VARIABLES:
        os.environ.setdefault(name, "1")
