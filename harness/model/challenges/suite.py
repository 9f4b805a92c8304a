"""Challenge suites: named sets of challenges over which models are ranked."""

from typing import Self

from pydantic import Field, model_validator

from harness.model.base import Identifier, Model, Text

EVERYTHING = "all"
"""Built-in suite of every challenge with a mark."""


class ChallengeSuite(Model):
    """A named set of challenges over which models are ranked."""

    id: Identifier
    """Name in `harness scoreboard --suite`."""
    title: Text
    """Description in a phrase."""
    challenges: tuple[Identifier, ...] = ()
    """Its challenges; empty for the suite of every challenge with a mark."""


class ChallengeSuites(Model):
    """The content of `challenges/suites.toml`."""

    board: Identifier | None = None
    """Default suite of boards, possibly `all`; `core` if not stated."""
    suites: tuple[ChallengeSuite, ...] = Field(min_length=1)
    """All suites, in file order."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        ids = [suite.id for suite in self.suites]
        if twice := next((id for id in ids if ids.count(id) > 1), None):
            raise ValueError(f"suite {twice!r} appears twice")
        if EVERYTHING in ids:
            raise ValueError(f"suite {EVERYTHING!r} is that of every challenge with a mark; give this one another id")
        if self.board is not None and self.board not in (*ids, EVERYTHING):
            raise ValueError(f"board names no suite: {self.board!r}")
        for suite in self.suites:
            if not suite.challenges:
                raise ValueError(f"suite {suite.id!r} names no challenge")
            if twice := next((id for id in suite.challenges if suite.challenges.count(id) > 1), None):
                raise ValueError(f"suite {suite.id!r} names {twice!r} twice")
        return self
