"""Keyed hashes that detect rows written by others."""

import contextlib
import marshal
import os
import secrets
from functools import cache
from hashlib import blake2b
from pathlib import Path

BYTES = 32
"""Bytes of the key."""
SIZE = 16
"""Bytes of a seal."""
Value = str | bytes | int | float | None
"""Types of SQLite's values."""


def seal(*values: Value) -> bytes:
    """Return the keyed hash of SQLite values; empty without a key, which makes every check fail.

    The key lies outside every workspace, so that whoever supplies a store cannot seal its content.
    """
    key = _key()
    # version 2 writes equal values as equal bytes, and is the fastest that does
    return blake2b(marshal.dumps(values, 2), digest_size=SIZE, key=key).digest() if key else b""


def holds(given: bytes, *values: Value) -> bool:
    """Return whether `given` is the seal of these values."""
    return bool(given) and given == seal(*values)


@cache
def _key() -> bytes:
    """Return this user's key, made on first use; empty if it cannot be stored."""
    try:
        path = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state", "harness", "store.key")
        with contextlib.suppress(FileNotFoundError):
            return _read(path)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = path.with_name(f".{path.name}.{os.getpid()}")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(secrets.token_bytes(BYTES))
        try:
            with contextlib.suppress(FileExistsError):  # another process made one meanwhile
                os.link(new, path)
        finally:
            new.unlink()
        return _read(path)
    except (OSError, RuntimeError):  # no home, or one that cannot be written
        return b""


def _read(path: Path) -> bytes:
    key = path.read_bytes()
    return key if len(key) == BYTES else b""
