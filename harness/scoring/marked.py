"""Protocols of objects with marks."""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from harness.model import Provenance, Score, Status


class Marked(Protocol):
    """One model's marks on one challenge."""

    @property
    def model(self) -> str:
        """Model id."""

    @property
    def challenge(self) -> str:
        """Challenge id."""

    @property
    def provenance(self) -> Provenance:
        """Provenance of the marked files."""

    @property
    def status(self) -> Status:
        """Progress of marking."""

    @property
    def ranked(self) -> bool:
        """True if the marks count in ranks."""

    @property
    def turns(self) -> int:
        """Number of replies allowed, each after the first with feedback."""

    @property
    def overall(self) -> Score:
        """Overall mark."""

    @property
    def dimensions(self) -> Mapping[str, Score]:
        """Marks by dimension."""


class AskedFor(Protocol):
    """A request to a model."""

    @property
    def turns(self) -> int:
        """Number of replies allowed."""


AskedAlike = TypeVar("AskedAlike", bound=AskedFor)


def first_group(ordered: Sequence[AskedAlike]) -> list[AskedAlike]:
    """Return the items that are single-turn or multi-turn like the first."""
    return [one for one in ordered if (one.turns > 1) is (ordered[0].turns > 1)]
