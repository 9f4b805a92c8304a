"""The base package, with all that it needs, stays small.

`python -m tests.test_the_base_package_stays_small` prints what each dependency takes.
"""

from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.installed import needed

MOST_MB = 400
"""350 once pandas (81 MB) is an extra."""
ROOT = Path(__file__).parents[1]
OWN = ("harness", "challenges", "references")
"""Folders of the wheel."""


def megabytes(without: str = "") -> float:
    """Size of the files of all dependencies, `without` one and what it alone brings."""
    files = (file.locate() for found in needed("kernel-harness", without=without) for file in found.files or ())
    return sum(Path(str(path)).stat().st_size for path in files if Path(str(path)).exists()) / 1e6


def own_megabytes() -> float:
    paths = (path for name in OWN for path in (ROOT / name).rglob("*") if "__pycache__" not in path.parts)
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def test_the_installed_size_is_bounded() -> None:
    assert megabytes() + own_megabytes() <= MOST_MB


if __name__ == "__main__":
    whole = megabytes()
    print(
        f"{whole + own_megabytes():6.1f} MB, {own_megabytes():.1f} of them our own; dependencies with what each brings:"
    )
    asked = [Requirement(line) for line in distribution("kernel-harness").requires or ()]
    names = [requirement.name.lower() for requirement in asked if requirement.marker is None]
    for size, name in sorted(((whole - megabytes(name), name) for name in names), reverse=True):
        print(f"{size:6.1f} {name}")
