"""The location of the bundled challenges."""

from pathlib import Path

from harness.errors import PrerequisiteError

PACKAGE = Path(__file__).resolve().parents[1]
BUNDLED = "bundled"
"""Folder of the challenges in an installed package."""


def find_bundle() -> Path:
    """Return the folder of the bundled `challenges/` and `references/`.

    Raises:
        PrerequisiteError: this installation has none.
    """
    for place in (PACKAGE / BUNDLED, PACKAGE.parent):
        if (place / "challenges").is_dir():
            return place
    raise PrerequisiteError(
        f"{PACKAGE} holds no bundled challenges: the package was built without them\n"
        "  install it from a checkout: pip install PATH"
    )
