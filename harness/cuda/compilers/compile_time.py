"""Compilers in the sandbox on untrusted source, limited by processor time so that load does not matter."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.sandbox.session.command import CommandLimit, Completed, run
from harness.timing.exclusive import MachineBusy, beside_others, second_try
from harness.timing.timeline import span

SECONDS = 600.0
"""Processor seconds for one submission."""
TOO_BUSY = "the machine gave the compiler too little time; grade again where it has more to give"


class CompileTime:
    """The processor seconds of a build, initial (`allowed`) and remaining (`left`)."""

    def __init__(self, allowed: float = SECONDS) -> None:
        self.allowed = self.left = allowed

    def run(self, words: Sequence[str], folder: Path, **options: Any) -> Completed:
        """Run a compiler like `sandbox.run`; after a wall-clock timeout, once more with nothing beside it.

        Raises:
            BoxError: failure to start the sandbox.
        """
        limit = max(1.0, self.left)
        with beside_others():
            done = self._run(words, folder, options)
        if done.exceeded is not CommandLimit.WALL_CLOCK:
            return done
        try:
            with second_try(limit, done.seconds):
                return self._run(words, folder, options)
        except MachineBusy:
            return done

    def _run(self, words: Sequence[str], folder: Path, options: dict[str, Any]) -> Completed:
        with span("compile", Path(words[0]).name):
            done = run(words, folder, seconds=max(1.0, self.left), **options)
        if done.exceeded is not CommandLimit.WALL_CLOCK:  # its time is not charged, since it may run again
            self.left -= done.processor_seconds
        return done
