"""Hashes of the lines of unpublishable submissions, which reveal a copied line without storing it.

`python -m harness.importing.line_hashes FOLDER` prints those of fetched files, without our adapters, for
`line_hashes.txt` beside the collection's manifest.
"""

import base64
import hashlib
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.workspace import Workspace

FILE = "line_hashes.txt"
SHORTEST = 30
"""Characters of the shortest line that is distinctive enough."""
LENGTH = 6
"""Bytes kept of a SHA-256: against 10,000 hashes, about 1 other line in 10 ** 10 matches by chance."""
WIDTH = 120


def normalise(line: str) -> str:
    """Collapse white space to single spaces, and strip."""
    return " ".join(line.split())


def line_hash(line: str) -> bytes | None:
    """Return a line's hash; None if too short."""
    text = normalise(line)
    return hashlib.sha256(text.encode(errors="replace")).digest()[:LENGTH] if len(text) >= SHORTEST else None


def hashes_of(texts: Iterable[str]) -> frozenset[bytes]:
    """Return the hashes of all lines."""
    return frozenset(found for text in texts for line in text.splitlines() if (found := line_hash(line)) is not None)


def as_text(hashes: Iterable[bytes]) -> str:
    """Return sorted hashes as Base64 text."""
    packed = base64.b64encode(b"".join(sorted(hashes))).decode()
    return "\n".join(textwrap.wrap(packed, WIDTH)) + "\n"


def from_text(text: str) -> frozenset[bytes]:
    """Parse the output of `as_text`.

    Raises:
        ValueError: the text is malformed.
    """
    packed = base64.b64decode("".join(text.split()), validate=True)
    if len(packed) % LENGTH:
        raise ValueError(f"holds {len(packed)} bytes, which are no hashes of {LENGTH}")
    return frozenset(packed[start : start + LENGTH] for start in range(0, len(packed), LENGTH))


def _read_published_texts(workspace: Workspace, folder: Path) -> Iterator[str]:
    for place in sorted(folder.glob("*/*")):
        found = workspace.find_collection_entry(place)
        for name in found[1].files if found else ():
            yield (place / name).read_text(encoding="utf-8", errors="replace")


if __name__ == "__main__":
    print(as_text(hashes_of(_read_published_texts(Workspace.find(), Path(sys.argv[1])))), end="")
