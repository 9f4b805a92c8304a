"""What `harness cuda` says while a program takes long: how far it has come, and how to make it smaller."""

from collections.abc import Callable

from harness.cuda.report import Progress, last_progress

FIRST_LOOK = 6.0
"""Seconds after which a launch that would take longer than `LONG` is told of."""
LAST_LOOK = 20.0
"""Seconds after which a program is told of in any case."""
LONG = 60.0


class SlowHint:
    """One line about a run that will take more than a minute, said once, by a rate that was measured.

    Args:
        say: takes the line.
        samples: whether `--blocks` is to be had.
        seconds: after which the run is ended.
    """

    def __init__(self, say: Callable[[str], None], *, samples: bool, seconds: float) -> None:
        self._say = say
        self._smaller = "--set NAME=VALUE, -D or arguments after -- make it smaller"
        if samples:
            self._smaller = f"--blocks N runs a sample of its blocks, {self._smaller}"
        self._seconds = seconds
        self._look = FIRST_LOOK
        self._said = False

    def __call__(self, seconds: float, reported: bytes) -> None:
        """Look at a program that has run for so many seconds and has reported so much."""
        if self._said or seconds < self._look:
            return
        self._look += 2
        progress, launch, launches = last_progress(reported)
        kernel = launch.kernel if launch else "a kernel"
        text = self._launch(progress, kernel) if progress else ""
        if not text and launches and seconds >= LAST_LOOK:
            text = f"{launches:,} launch{'es' if launches > 1 else ''} in {seconds:.0f} s, now {kernel}"
        if text:
            self._said = True
            self._say(f"{text}: {self._smaller}, --launches N stops early (ended after {self._seconds:g} s)")

    def _launch(self, progress: Progress, kernel: str) -> str:
        """Of a launch that is long by itself."""
        whole = progress.whole_seconds
        if whole is None or whole <= LONG or progress.milliseconds < 1000:
            return ""
        done = f"{progress.blocks_done:,} of {progress.blocks:,} blocks of {kernel}"
        return f"{done} in {progress.milliseconds / 1000:.0f} s, so this launch takes about {_minutes(whole)}"


def _minutes(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes:,} minute{'s' if minutes > 1 else ''}"
