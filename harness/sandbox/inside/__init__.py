"""What runs on the far side, and the only part of the harness visible there: standard library and NumPy alone."""
