"""What has marks: the record of a grade, or what published reviews said of an answer."""

from collections.abc import Mapping
from typing import Protocol

from harness.model import Provenance, Score, Status


class Marked(Protocol):
    """One model's marks on one challenge. A `Record` is one."""

    @property
    def model(self) -> str:
        """Who answered."""

    @property
    def challenge(self) -> str:
        """What was answered."""

    @property
    def provenance(self) -> Provenance:
        """Where the files that were marked come from."""

    @property
    def status(self) -> Status:
        """How far marking got."""

    @property
    def ranked(self) -> bool:
        """Whether the marks count in ranks."""

    @property
    def overall(self) -> Score:
        """The mark over all."""

    @property
    def dimensions(self) -> Mapping[str, Score]:
        """Marks by heading."""
