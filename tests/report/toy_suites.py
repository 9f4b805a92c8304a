"""Workspaces with a file of suites."""

from pathlib import Path

from harness.workspace import Workspace


def written(root: Path, suites: str) -> Workspace:
    """A workspace with the challenges `first` and `second`, which nothing reads, and this file of suites."""
    for id in ("first", "second"):
        (root / "challenges" / id).mkdir(parents=True)
        (root / "challenges" / id / "challenge.toml").write_text("")
    (root / "challenges" / "suites.toml").write_text(suites)
    return Workspace(root)
