"""Progress states the share done, the seconds of a step, and the time that is left."""

import pytest

from harness.cli import output


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.5, "0.5 s each, 3 s left"), (15, "15 s each, 90 s left"), (200, "3 min each, 20 min left"),
     (3600, "60 min each, 6 h 0 min left")],
)  # fmt: skip
def test_the_time_left_follows_from_the_pace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], seconds: float, told: str
) -> None:
    clock = Clock()
    monkeypatch.setattr(output, "time", clock)
    monkeypatch.setattr(output, "TELL_SECONDS", 3 * seconds)
    with output.ProgressLine(10) as steps:
        for number in range(4):
            steps.now(f"step {number}")
            clock.now += seconds
            assert steps.seconds(f"step {number}") == seconds
            steps.done(f"step {number}")
    lines = capsys.readouterr().err.splitlines()
    assert lines == [*(f"step {number}" for number in range(4)), f"4 of 10: 40 % done, {told}"]


def test_nothing_is_said_of_a_pace_that_nobody_knows(capsys: pytest.CaptureFixture[str]) -> None:
    with output.ProgressLine(3) as steps:
        steps.now("a")
        steps.done("a", "done with a")
    assert capsys.readouterr().err == "done with a\n"


def test_a_terminal_shows_it_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = output.ProgressLine(4)
    monkeypatch.setattr(output, "time", clock := Clock())
    steps._begun = 0.0
    assert steps._format_pace() == ""
    clock.now, steps._ended = 30.0, 3
    assert steps._format_pace() == "75 % done, 10 s each, 10 s left"
