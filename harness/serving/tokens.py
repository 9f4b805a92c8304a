"""Who may use the service: bearer tokens, of which only the hashes are kept."""

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
from harness.stored_files import read_stored, remedy, write_atomically
from harness.workspace import Workspace

PREFIX = "hk_"
"""By which a token is known for one where it turns up."""
SECRET_BYTES = 32
MAX_TOKEN = 200
"""Characters; a longer one is none of ours."""


class Scope(StrEnum):
    """What a token allows."""

    GRADE = "grade"
    """Send answers, and read the grades of those sent with the same token."""
    READ = "read"
    """Read every grade, and the metrics."""


class TokenEntry(Model):
    """A token as it is kept."""

    name: Identifier
    """Whose it is: in logs, and to remove it."""
    scopes: tuple[Scope, ...] = Field(min_length=1)
    """What it allows."""
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Of the token. It is drawn from 256 random bits, so that a plain hash cannot be turned back."""
    made: AwareDatetime
    """When."""

    @property
    def id(self) -> str:
        """Names the owner of what is sent with it: a later token of the same name has another."""
        return hashlib.sha256(f"owner {self.sha256}".encode()).hexdigest()[:32]


class TokenList(Stored):
    """The file with the tokens."""

    tokens: tuple[TokenEntry, ...] = ()
    """By name, each once."""


def token_path(workspace: Workspace) -> Path:
    """Where the tokens of a workspace's server are."""
    return workspace.cache_folder / "service_tokens.json"


class TokenFile:
    """A file with tokens, read again whenever it has changed.

    Args:
        path: of the file; it need not be there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._entries: tuple[TokenEntry, ...] = ()

    def entries(self) -> tuple[TokenEntry, ...]:
        """All tokens.

        Raises:
            StoreError: the file cannot be read.
        """
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
        """The entry of a token. Takes as long whichever it is, and whether or not there is one.

        Raises:
            StoreError: the file cannot be read.
        """
        digest = hashlib.sha256(token[:MAX_TOKEN].encode(errors="replace")).hexdigest()
        found = None
        for entry in self.entries():
            if hmac.compare_digest(entry.sha256, digest):
                found = entry
        return found

    def add(self, name: str, scopes: tuple[Scope, ...]) -> str:
        """Make a token; it is returned here and kept nowhere.

        Raises:
            SpecError: there is one of this name.
            StoreError: the file cannot be read or written.
        """
        entries = self.entries()
        if any(entry.name == name for entry in entries):
            raise SpecError(
                self.path, f"has a token {name!r} already", hint=f"to replace it, remove it first: {_removal(name)}"
            )
        token = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        digest = hashlib.sha256(token.encode()).hexdigest()
        made = datetime.now(UTC).replace(microsecond=0)
        self._write((*entries, TokenEntry(name=name, scopes=scopes, sha256=digest, made=made)))
        return token

    def remove(self, name: str) -> None:
        """Take a token back; running servers refuse it from the next request on.

        Raises:
            NotFoundError: there is none of this name.
            StoreError: the file cannot be read or written.
        """
        entries = self.entries()
        known = [entry.name for entry in entries]
        if name not in known:
            raise NotFoundError(f"no token {name!r}{nearest(name, known)}\n  try: harness serve token ls")
        self._write(tuple(entry for entry in entries if entry.name != name))

    def _write(self, entries: tuple[TokenEntry, ...]) -> None:
        write_atomically(self.path, TokenList(tokens=entries).to_json())
        os.chmod(self.path, 0o600)


def _removal(name: str) -> str:
    return f"harness serve token rm {name}"
