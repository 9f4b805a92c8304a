"""Access to the service: bearer tokens, stored as hashes."""

import hashlib
import hmac
import os
import secrets
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from pydantic import AwareDatetime, Field

from harness.errors import NotFoundError, SpecError, StoreError, nearest
from harness.model import Stored
from harness.model.base import Identifier, Model
from harness.workspace import Workspace
from harness.workspace.stored_files import read_stored, remedy, write_atomically

PREFIX = "hk_"
"""Prefix that makes a leaked token recognisable."""
SECRET_BYTES = 32
MAX_TOKEN = 200
"""Characters of a token that are hashed; ours are shorter."""


class Scope(StrEnum):
    """Permission of a token."""

    GRADE = "grade"
    """Send submissions, and read the grades of those sent with the same token."""
    READ = "read"
    """Read every grade, and the metrics."""


class TokenEntry(Model):
    """A stored token."""

    name: Identifier
    """Owner's name, for logs and removal."""
    scopes: tuple[Scope, ...] = Field(min_length=1)
    """Permissions."""
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Hash of the token; unsalted, since the token has 256 random bits."""
    made: AwareDatetime
    """Time of creation."""

    @property
    def id(self) -> str:
        """Owner id of jobs; a later token of the same name gets another."""
        return hashlib.sha256(f"owner {self.sha256}".encode()).hexdigest()[:32]


class TokenList(Stored):
    """The file of tokens."""

    tokens: tuple[TokenEntry, ...] = ()
    """Tokens with distinct names."""


def token_path(workspace: Workspace) -> Path:
    """Return the path of the token file."""
    return workspace.cache_folder / "service_tokens.json"


class TokenFile:
    """A token file, if any, reread whenever it changes. Methods raise `StoreError` if it is unusable."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._entries: tuple[TokenEntry, ...] = ()

    def entries(self) -> tuple[TokenEntry, ...]:
        """Return all tokens."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            self._seen, self._entries = None, ()
            return ()
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be read: {error.strerror}\n  {remedy(error)}") from error
        seen = (found.st_mtime_ns, found.st_size, found.st_ino)
        if seen != self._seen:
            self._entries = read_stored(self.path, TokenList).tokens
            self._seen = seen
        return self._entries

    def owner(self, token: str) -> TokenEntry | None:
        """Look up a token, in time independent of the outcome."""
        digest = hashlib.sha256(token[:MAX_TOKEN].encode(errors="replace")).hexdigest()
        found = None
        for entry in self.entries():
            if hmac.compare_digest(entry.sha256, digest):
                found = entry
        return found

    def add(self, name: str, scopes: tuple[Scope, ...]) -> str:
        """Create a token and return its text, which is stored only as a hash.

        Raises:
            SpecError: the name is taken.
        """
        entries = self.entries()
        if any(entry.name == name for entry in entries):
            hint = f"to replace it, remove it first: harness serve token rm {name}"
            raise SpecError(self.path, f"has a token {name!r} already", hint=hint)
        token = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        digest = hashlib.sha256(token.encode()).hexdigest()
        made = datetime.now(UTC).replace(microsecond=0)
        self._write((*entries, TokenEntry(name=name, scopes=scopes, sha256=digest, made=made)))
        return token

    def remove(self, name: str) -> None:
        """Revoke a token; running servers refuse it from the next request on.

        Raises:
            NotFoundError: the name is unknown.
        """
        entries = self.entries()
        known = [entry.name for entry in entries]
        if name not in known:
            raise NotFoundError(f"no token {name!r}{nearest(name, known)}\n  try: harness serve token ls")
        self._write(tuple(entry for entry in entries if entry.name != name))

    def _write(self, entries: tuple[TokenEntry, ...]) -> None:
        write_atomically(self.path, TokenList(tokens=entries).to_json())
        os.chmod(self.path, 0o600)
