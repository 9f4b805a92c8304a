"""The tests; a package, so that those in need of it can import its words."""

from harness.grading.linear_algebra import compute_in_one_thread

compute_in_one_thread()  # before NumPy is imported: tests run side by side, and their threads wait for each other
