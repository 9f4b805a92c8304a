"""How to grade."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

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
    """

    seed: int | None = None
    force: bool = False
    full: bool = False
    limits: Mapping[str, float] = field(default_factory=dict)
    publish: bool = True
    device: str = "auto"
