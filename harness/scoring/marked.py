"""What has marks: the record of a grade, or what published reviews said of an answer."""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

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
    def turns(self) -> int:
        """Replies the model was allowed; with several, each after the first made in view of what was found before."""

    @property
    def overall(self) -> Score:
        """The mark over all."""

    @property
    def dimensions(self) -> Mapping[str, Score]:
        """Marks by heading."""


class AskedFor(Protocol):
    """What a model was asked for, in one turn or in several."""

    @property
    def turns(self) -> int:
        """Replies the model was allowed."""


AskedAlike = TypeVar("AskedAlike", bound=AskedFor)


def first_group(ordered: Sequence[AskedAlike]) -> list[AskedAlike]:
    """Those that compare with the first of them: asked in one turn, or in several, as it was."""
    return [one for one in ordered if (one.turns > 1) is (ordered[0].turns > 1)]
