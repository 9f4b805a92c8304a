"""What an answer costs on a GPU and beside it on the emulated device is one sum, and is taken back device by device."""

from pathlib import Path

from harness.model import Limits, Signal, SignalKind, Tier
from harness.probing.answers import SandboxedAnswer, Spent
from harness.probing.submissions.device import EmulatedAnswer, GpuAnswer
from harness.sandbox import WorkerSpec

TARGET = WorkerSpec(Path("/nowhere"), "driver.py", ("launch",), Limits(), Tier.C)


def on_both() -> GpuAnswer:
    return GpuAnswer(SandboxedAnswer(TARGET), EmulatedAnswer(TARGET))


def test_what_is_taken_back_is_taken_from_the_device_that_spent_it() -> None:
    answer = on_both()
    before = answer.spent
    answer.real.spent, answer.emulated.spent = Spent(1, 2, 3, 4), Spent(10, 20, 30, 40)
    spent = answer.spent - before
    assert (spent.charged_seconds, spent.calls) == (22, 44)
    answer.spent = before
    assert answer.share_used == 0
    answer.spent = before + spent
    assert (answer.real.spent, answer.emulated.spent) == (Spent(1, 2, 3, 4), Spent(10, 20, 30, 40))


def test_a_twin_has_cost_nothing_and_seen_nothing() -> None:
    answer = on_both()
    answer.emulated.sources = ("answer.cu",)
    answer.real.spent = Spent(1, 2, 3, 4)
    twin = answer.twin()
    assert (twin.spent.calls, twin.signals, twin.emulated.sources) == (0, [], ("answer.cu",))


def test_signals_are_put_back_where_they_were_seen() -> None:
    answer = on_both()
    one, other = (Signal(kind=kind, detail="x") for kind in list(SignalKind)[:2])
    answer.real.signals, answer.emulated.signals = [one], [other]
    seen = answer.signals
    answer.signals = []
    assert answer.signals == []
    answer.signals = [*seen]
    assert set(answer.signals) == {one, other}
