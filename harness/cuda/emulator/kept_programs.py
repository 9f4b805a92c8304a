"""A cache of built programs, for repeated checks of the same text."""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from harness.cuda.emulator import archive
from harness.cuda.rewriting import UnsupportedConstruct

_MOST = 64
_PROGRAM, _SAID = "program", "said.json"


def folder() -> Path:
    """Return the cache folder.

    Raises:
        PrerequisiteError: failure to create the cache folder.
    """
    return archive.cache_folder() / "programs"


def key(parts: Iterable[object]) -> str:
    """Return a cache key: a digest of all inputs of a build."""
    return hashlib.sha256("\0".join(map(repr, parts)).encode()).hexdigest()[:32]


def take(name: str, into: Path) -> tuple[str, tuple[UnsupportedConstruct, ...]] | None:
    """Copy the program cached under `name` to `into`.

    Returns:
        The compiler's warnings and the constructs that end its run; None on a cache miss.
    """
    kept = folder() / name
    try:
        said = json.loads((kept / _SAID).read_text(encoding="utf-8"))
        shutil.copyfile(kept / _PROGRAM, into)
        # marks it as recently used
        os.utime(kept)
    except (OSError, ValueError):
        return None
    return said["warnings"], tuple(UnsupportedConstruct(**each) for each in said["unsupported"])


def keep(name: str, program: Path, warnings: str, unsupported: Iterable[UnsupportedConstruct]) -> None:
    """Cache a program under `name`, if the cache can be written."""
    with contextlib.suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        made = Path(tempfile.mkdtemp(prefix=".making-", dir=folder()))
        try:
            shutil.copyfile(program, made / _PROGRAM)
            said = {"warnings": warnings, "unsupported": [vars(each) for each in unsupported]}
            (made / _SAID).write_text(json.dumps(said), encoding="utf-8")
            made.rename(folder() / name)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        _forget_oldest()


def _forget_oldest() -> None:
    kept = sorted(folder().iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in kept[_MOST:]:
        shutil.rmtree(path, ignore_errors=True)
