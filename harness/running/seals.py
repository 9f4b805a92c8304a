"""Seals of what the store keeps in short: a row that somebody else wrote or edited is not believed but found anew."""

import contextlib
import marshal
import os
import secrets
from functools import cache
from hashlib import blake2b
from pathlib import Path

BYTES = 32
"""Of the key."""
SIZE = 16
"""Bytes of a seal."""
Value = str | bytes | int | float | None
"""What SQLite keeps."""


def seal(*values: Value) -> bytes:
    """Seal values as SQLite gives them; empty where this user has no key, and then no seal holds.

    The key lies outside every workspace, so whoever brings a store along cannot seal what is in it.
    """
    key = _key()
    # version 2 writes equal values as equal bytes, and is the fastest that does
    return blake2b(marshal.dumps(values, 2), digest_size=SIZE, key=key).digest() if key else b""


def holds(given: bytes, *values: Value) -> bool:
    """Return whether `given` is the seal of these values."""
    return bool(given) and given == seal(*values)


@cache
def _key() -> bytes:
    """The key of this user, made when it is first asked for; empty where none can be kept."""
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
