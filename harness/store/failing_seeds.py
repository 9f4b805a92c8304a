"""Seeds that once failed a submission, tried first in its later grades."""

import hashlib
import json
from collections.abc import Mapping

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
        return self.read_all().get(criterion)

    def read_all(self) -> dict[str, int]:
        """Return all seeds by criterion."""
        query = "SELECT criterion, seed FROM failing_seeds WHERE files = ?"
        return dict(self._database.read_cache(query, (self._files,)))

    def keep(self, criterion: str, seed: int) -> None:
        """Save a seed in place of an earlier one."""
        row = (self._files, criterion, seed)
        self._database.write_cache("INSERT OR REPLACE INTO failing_seeds VALUES (?, ?, ?)", [row])

    def forget(self) -> None:
        """Remove all seeds."""
        self._database.write_cache("DELETE FROM failing_seeds WHERE files = ?", [(self._files,)])
