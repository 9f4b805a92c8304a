"""How to grade."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field

from harness.model import GradeProfile

Progress = Callable[[str], None]


def no_progress(stage: str) -> None:
    """Ignore the progress."""


@dataclass(frozen=True)
class Options:
    """How to grade.

    Attributes:
        seed: fixes the inputs and marks the record unranked; drawn anew when None.
        force: grade although nothing changed.
        full: run the answer's own tests without the bound on their time.
        limits: overrides of the challenge's limits by name.
        publish: put the record under reports/records/.
        device: where answers run: `auto`, or a device of their language; CUDA has `gpu` and `emulated`.
        elsewhere: publish the record of a folder outside the workspace's submissions too, and in place of the published
            record of another folder.
        profile: which criteria are run, and for how long.
        only: ids of the criteria to run in place of the profile's own.
        seconds: wall time after which no further criterion is begun and calls end; a grade cut off has no reward.
        untimed: leave out the criteria that a clock decides.
        cores: how many processors the grade may keep busy at most; all there are by default.
        stored: keep the record in the workspace's store; False where another process does.
    """

    seed: int | None = None
    force: bool = False
    full: bool = False
    limits: Mapping[str, float] = field(default_factory=dict)
    publish: bool = True
    device: str = "auto"
    elsewhere: bool = True
    profile: GradeProfile = GradeProfile.FULL
    only: tuple[str, ...] = ()
    seconds: float | None = None
    untimed: bool = False
    stored: bool = True
    cores: int | None = None

    @property
    def partial(self) -> bool:
        """Whether less is run than a record needs that is published and ranked."""
        return self.profile is not GradeProfile.FULL or bool(self.only)

    def to_json(self) -> str:
        """For a process that grades."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Options":
        """What `to_json` wrote."""
        given = json.loads(text)
        return cls(**given | {
            "profile": GradeProfile(given.get("profile", GradeProfile.FULL)), "only": tuple(given.get("only", ())),
        })  # fmt: skip
