"""How many threads the grader's own linear algebra takes."""

import os

_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def compute_in_one_thread() -> None:
    """Keep NumPy, once it is imported, from starting a thread for each core; a setting of the user's stays.

    The arrays of a probe are small: waiting for other threads takes a third of a grade's processor time. For the
    harness's own programs: a program that uses the library decides that for itself.
    """
    for name in _VARIABLES:
        os.environ.setdefault(name, "1")
