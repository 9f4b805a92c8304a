"""Seeds that once failed a submission, tried first in its later grades."""

import contextlib
import hashlib
import json
from collections.abc import Mapping

from harness.errors import StoreError
from harness.store.database import Database

TABLES = """
CREATE TABLE IF NOT EXISTS failing_seeds (
    files TEXT NOT NULL, criterion TEXT NOT NULL, seed INTEGER NOT NULL, PRIMARY KEY (files, criterion)
)
"""


class FailingSeeds:
    """Failing seeds of one submission. Errors of the store only lose seeds.

    Args:
        hashes: SHA-256 by relative path.
    """

    def __init__(self, database: Database, challenge: str, hashes: Mapping[str, str]) -> None:
        self._database = database
        self._files = hashlib.sha256(json.dumps([challenge, sorted(hashes.items())]).encode()).hexdigest()

    def of(self, criterion: str) -> int | None:
        """Return the failing seed of a criterion, or None."""
        query = "SELECT seed FROM failing_seeds WHERE files = ? AND criterion = ?"
        with contextlib.suppress(StoreError):
            row = self._database.read(lambda c: c.execute(query, (self._files, criterion)).fetchone(), None)
            return int(row[0]) if row else None
        return None

    def read_all(self) -> dict[str, int]:
        """Return all seeds by criterion."""
        query = "SELECT criterion, seed FROM failing_seeds WHERE files = ?"
        with contextlib.suppress(StoreError):
            return dict(self._database.read(lambda c: c.execute(query, (self._files,)).fetchall(), []))
        return {}

    def keep(self, criterion: str, seed: int) -> None:
        """Save a seed in place of an earlier one."""
        row = (self._files, criterion, seed)
        with contextlib.suppress(StoreError):
            self._database.write(lambda c: c.execute("INSERT OR REPLACE INTO failing_seeds VALUES (?, ?, ?)", row))

    def forget(self) -> None:
        """Remove all seeds."""
        with contextlib.suppress(StoreError):
            self._database.write(lambda c: c.execute("DELETE FROM failing_seeds WHERE files = ?", (self._files,)))
