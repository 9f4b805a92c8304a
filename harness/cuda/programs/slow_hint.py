"""Hints during a slow run of `harness cuda`: progress, and ways to shrink the program."""

from collections.abc import Callable

from harness.cuda.emulator.device_trace import Progress, last_progress

FIRST_LOOK = 6.0
"""Seconds before a launch estimated above `LONG` is reported."""
LAST_LOOK = 20.0
"""Seconds before any program is reported."""
LONG = 60.0


class SlowHint:
    """Prints one line about a run that is measured to take more than a minute.

    Args:
        say: prints the line.
        samples: True if `--blocks` is available.
        seconds: time limit of the run.
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
        """Check a program's report after some seconds of running."""
        if self._said or seconds < self._look:
            return
        self._look += 2
        progress, launch, launches = last_progress(reported)
        kernel = launch.kernel if launch else "a kernel"
        text = self._describe_launch(progress, kernel) if progress else ""
        if not text and launches and seconds >= LAST_LOOK:
            text = f"{launches:,} launch{'es' if launches > 1 else ''} in {seconds:.0f} s, now {kernel}"
        if text:
            self._said = True
            self._say(f"{text}: {self._smaller}, --launches N stops early (ended after {self._seconds:g} s)")

    def _describe_launch(self, progress: Progress, kernel: str) -> str:
        whole = progress.whole_seconds
        if whole is None or whole <= LONG or progress.milliseconds < 1000:
            return ""
        done = f"{progress.blocks_done:,} of {progress.blocks:,} blocks of {kernel}"
        return f"{done} in {progress.milliseconds / 1000:.0f} s, so this launch takes about {_format_minutes(whole)}"


def _format_minutes(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes:,} minute{'s' if minutes > 1 else ''}"
