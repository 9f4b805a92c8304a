"""`python -m harness` is `harness`."""

from harness.cli.main import run

run()
