"""Options of a grade."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field

from harness.model import GradeProfile

Progress = Callable[[str], None]


def no_progress(stage: str) -> None:
    """Ignore the progress."""


@dataclass(frozen=True)
class Options:
    """Options of a grade.

    Attributes:
        seed: seed of the inputs; None for a random one. A chosen seed makes the record unranked.
        force: true to grade despite a reusable record.
        full: true to run the submission's own tests without their time limit.
        limits: overrides of the challenge's limits.
        publish: true to save the record under reports/records/.
        device: `auto`, or a device of the language; CUDA has `gpu` and `emulated`.
        elsewhere: true to publish records of folders outside submissions/, and to replace another folder's.
        only: ids of the criteria to run instead of the profile's.
        seconds: wall time after which calls end; a grade cut off has no reward.
        untimed: true to omit criteria that a clock decides.
        stored: true to save the record in the store.
        cores: processors to keep busy; None for all.
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
        """True if too little is run to publish and rank."""
        return self.profile is not GradeProfile.FULL or bool(self.only)

    def to_json(self) -> str:
        """Return the options as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Options":
        """Read the JSON of `to_json`."""
        given = json.loads(text)
        return cls(
            **given
            | {"profile": GradeProfile(given.get("profile", GradeProfile.FULL)), "only": tuple(given.get("only", ()))}
        )
