"""Hashes of the lines of answers that may not be stored: enough to notice one of them elsewhere, not to read it.

`python -m harness.importing.line_hashes FOLDER` prints those of all files under a folder of fetched answers, our own
adapters left out; kept beside the collection's manifest as `line_hashes.txt`.
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
"""Characters of a line that is told apart from what anybody might write."""
LENGTH = 6
"""Bytes kept of a line's SHA-256: a line in 10 ** 10 that is not there passes for one of 10,000."""
WIDTH = 120


def normalised(line: str) -> str:
    """A line without the white space around it, any other as one space."""
    return " ".join(line.split())


def line_hash(line: str) -> bytes | None:
    """The hash of a line; None of one too short to count."""
    text = normalised(line)
    return hashlib.sha256(text.encode(errors="replace")).digest()[:LENGTH] if len(text) >= SHORTEST else None


def hashes_of(texts: Iterable[str]) -> frozenset[bytes]:
    """The hashes of all lines of some texts."""
    return frozenset(found for text in texts for line in text.splitlines() if (found := line_hash(line)) is not None)


def as_text(hashes: Iterable[bytes]) -> str:
    """Hashes as the text of a file: Base64 of all of them in their order."""
    packed = base64.b64encode(b"".join(sorted(hashes))).decode()
    return "\n".join(textwrap.wrap(packed, WIDTH)) + "\n"


def from_text(text: str) -> frozenset[bytes]:
    """What `as_text` wrote.

    Raises:
        ValueError: it is not that.
    """
    packed = base64.b64decode("".join(text.split()), validate=True)
    if len(packed) % LENGTH:
        raise ValueError(f"holds {len(packed)} bytes, which are no hashes of {LENGTH}")
    return frozenset(packed[start : start + LENGTH] for start in range(0, len(packed), LENGTH))


def _published_texts(workspace: Workspace, folder: Path) -> Iterator[str]:
    for place in sorted(folder.glob("*/*")):
        found = workspace.collected(place)
        for name in found[1].files if found else ():
            yield (place / name).read_text(encoding="utf-8", errors="replace")


if __name__ == "__main__":
    print(as_text(hashes_of(_published_texts(Workspace.find(), Path(sys.argv[1])))), end="")
