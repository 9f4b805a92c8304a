"""A bundled challenge in a workspace of its own, without criteria that a test has no need of."""

import shutil
from collections.abc import Collection
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
MARK = "[[criteria]]\n"


def copied(challenge: str, root: Path, without: Collection[str]) -> Path:
    """Copy a challenge and its references into the workspace at `root`, and strike criteria; its rubric."""
    for place in ("challenges", "references"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(CHECKOUT / place / challenge, root / place / challenge, ignore=ignored)
    return struck(challenge, root, without)


def struck(challenge: str, root: Path, without: Collection[str]) -> Path:
    """Strike criteria of a challenge; its rubric.

    Args:
        challenge: id.
        root: of the workspace.
        without: ids of criteria. Speed and drawn sizes are asked of it by tests of its own.
    """
    rubric = root / "challenges" / challenge / "challenge.toml"
    head, *criteria = rubric.read_text(encoding="utf-8").split(MARK)
    named = {text.split('"')[1]: text for text in criteria}
    assert named.keys() >= {*without}, {*without} - named.keys()
    kept = [text for id, text in named.items() if id not in without]
    rubric.write_text(MARK.join((head, *kept)), encoding="utf-8")
    return rubric
