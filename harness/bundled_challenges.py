"""Where the challenges lie that come with the package: inside an installed one, beside the package in a checkout."""

from pathlib import Path

from harness.errors import PrerequisiteError

PACKAGE = Path(__file__).resolve().parent
BUNDLED = "bundled"
"""Folder of an installed package that holds them."""


def bundled_folder() -> Path:
    """The folder that holds the bundled `challenges/` and `references/`.

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
