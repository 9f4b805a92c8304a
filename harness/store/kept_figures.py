"""Cache of slow figures of boards in the store."""

import contextlib
from collections.abc import Callable
from hashlib import sha256

import numpy as np

from harness.errors import StoreError
from harness.scoring.memory import FigureMemory, Floats
from harness.store.database import Database
from harness.store.seals import holds, seal


class KeptFigures(FigureMemory):
    """Figures in the store. Errors of the store only cost time.

    Args:
        source: version of the code that computes the figures.
    """

    def __init__(self, database: Database, source: str) -> None:
        self._database = database
        self._source = source.encode()
        self._new: list[tuple[str, bytes, bytes, bytes]] = []
        self._kept: dict[str, tuple[bytes, bytes]] | None = None

    def recall(self, name: str, given: Floats, make: Callable[[], Floats]) -> Floats:
        """Return the cached figures, else those from `make`."""
        if self._kept is None:
            self._kept = {name: (given, body) for name, given, body in self._rows()}
        key = sha256(self._source + given.tobytes()).digest()
        before, body = self._kept.get(name, (b"", b""))
        if before == key:
            return np.frombuffer(body)
        made = make()
        text = made.tobytes()
        self._new.append((name, key, text, seal(name, key, text)))
        return made

    def keep(self) -> None:
        """Write the new figures."""
        if self._new:
            statement = "INSERT OR REPLACE INTO figures VALUES (?, ?, ?, ?)"
            with contextlib.suppress(StoreError):
                self._database.write(lambda c: c.executemany(statement, self._new))

    def _rows(self) -> list[tuple[str, bytes, bytes]]:
        try:
            rows: list[tuple[str, bytes, bytes, bytes]]
            rows = self._database.read(lambda c: c.execute("SELECT * FROM figures").fetchall(), [])
        except StoreError:
            return []
        return [(name, given, body) for name, given, body, sealed in rows if holds(sealed, name, given, body)]
