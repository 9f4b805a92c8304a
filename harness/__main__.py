"""`python -m harness` runs the command `harness`."""

from harness.cli.main import run

run()
