"""Seeds whose inputs once failed an answer: kept for its files, and tried first on them from then on."""

import contextlib
import hashlib
import json
from collections.abc import Mapping

from harness.errors import StoreError
from harness.running.database import Database

TABLES = """
CREATE TABLE IF NOT EXISTS failing_seeds (
    files TEXT NOT NULL, criterion TEXT NOT NULL, seed INTEGER NOT NULL, PRIMARY KEY (files, criterion)
)
"""


class FailingSeeds:
    """The seeds that failed one answer, by criterion. A store that cannot be used costs no grade.

    Args:
        database: where they are kept.
        challenge: id of the challenge.
        hashes: SHA-256 of the answer's files by relative path.
    """

    def __init__(self, database: Database, challenge: str, hashes: Mapping[str, str]) -> None:
        self._database = database
        self._files = hashlib.sha256(json.dumps([challenge, sorted(hashes.items())]).encode()).hexdigest()

    def of(self, criterion: str) -> int | None:
        """The seed on which these files failed a criterion; None where they never did."""
        query = "SELECT seed FROM failing_seeds WHERE files = ? AND criterion = ?"
        with contextlib.suppress(StoreError):
            row = self._database.read(lambda c: c.execute(query, (self._files, criterion)).fetchone(), None)
            return int(row[0]) if row else None
        return None

    def known(self) -> dict[str, int]:
        """All of them by criterion."""
        query = "SELECT criterion, seed FROM failing_seeds WHERE files = ?"
        with contextlib.suppress(StoreError):
            return dict(self._database.read(lambda c: c.execute(query, (self._files,)).fetchall(), []))
        return {}

    def keep(self, criterion: str, seed: int) -> None:
        """Remember a seed in place of an earlier one."""
        row = (self._files, criterion, seed)
        with contextlib.suppress(StoreError):
            self._database.write(lambda c: c.execute("INSERT OR REPLACE INTO failing_seeds VALUES (?, ?, ?)", row))

    def forget(self) -> None:
        """Remove all of them."""
        with contextlib.suppress(StoreError):
            self._database.write(lambda c: c.execute("DELETE FROM failing_seeds WHERE files = ?", (self._files,)))
