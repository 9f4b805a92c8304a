"""Submissions in CUDA, on the emulated device and on a GPU."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from harness.cuda.emulator.device_trace import Report
from harness.cuda.emulator.symbols import resolve
from harness.cuda.gpu.device import Bench, Measured
from harness.errors import PrerequisiteError
from harness.model import Signal
from harness.probing.answers import Answer, Cost, SandboxedAnswer, Spent
from harness.probing.failures import NotMeasurable
from harness.sandbox import Array, Plan, RemoteObject, Reply, ServedUse
from harness.timing.exclusive import gpu_beside_others
from harness.timing.timeline import span

CHECKED = "instrumented.so"
"""File name of the build whose reports hold addresses."""


class LaunchedAnswer(SandboxedAnswer):
    """A sandboxed answer, called through the driver's `launch`."""

    def _get_function_name(self, function: str, args: tuple[Any, ...]) -> str:
        return str(args[0]) if function == "launch" and args else function


class EmulatedAnswer(LaunchedAnswer):
    """An answer on the emulated device."""

    sources: Collection[str] = ()
    """Files of the submission, relative to its folder."""

    def twin(self) -> Self:
        """See `SandboxedAnswer.twin`."""
        twin = super().twin()
        twin.sources = self.sources
        return twin


@dataclass(frozen=True)
class SpentOnBoth(Spent):
    """The total cost on both devices, and its parts."""

    real: Spent = field(default_factory=Spent)
    emulated: Spent = field(default_factory=Spent)

    @classmethod
    def of(cls, real: Spent, emulated: Spent) -> Self:
        """Return the sum of two costs."""
        return cls(**vars(real + emulated), real=real, emulated=emulated)

    def __add__(self, more: Spent) -> Self:
        assert isinstance(more, SpentOnBoth)
        return self.of(self.real + more.real, self.emulated + more.emulated)

    def __sub__(self, less: Spent) -> Self:
        assert isinstance(less, SpentOnBoth)
        return self.of(self.real - less.real, self.emulated - less.emulated)


class GpuAnswer:
    """An answer on a GPU: plain calls run there, other modes on the emulated device.

    Attributes:
        emulated: None if the submission cannot run there, for the reason `why_not`.
        lanes: see `SandboxedAnswer`; higher, because a new worker idles while it waits for the GPU's driver.
    """

    lanes = 4

    def __init__(self, real: SandboxedAnswer, emulated: EmulatedAnswer | None, why_not: str = "") -> None:
        self.real = real
        self.emulated = emulated
        self.why_not = why_not
        self.capabilities: Mapping[str, Any] = real.capabilities
        self.literals = real.literals
        self.cost = Cost()
        self.echo: tuple[Any, ...] = ()
        self.served: Mapping[str, ServedUse] = {}

    @property
    def functions(self) -> list[str]:
        """C functions of the GPU's library."""
        return self.real.functions

    @property
    def signals(self) -> list[Signal]:
        """Suspicious actions on either device."""
        return [signal for answer in self._list_answers() for signal in answer.signals]

    @signals.setter
    def signals(self, signals: Sequence[Signal]) -> None:
        elsewhere = [] if self.emulated is None else [s for s in self.emulated.signals if s in signals]
        self.real.signals = [signal for signal in signals if signal not in elsewhere]
        if self.emulated is not None:
            self.emulated.signals = elsewhere

    @property
    def spent(self) -> Spent:
        """See `SandboxedAnswer.spent`."""
        return SpentOnBoth.of(self.real.spent, Spent() if self.emulated is None else self.emulated.spent)

    @spent.setter
    def spent(self, spent: Spent) -> None:
        assert isinstance(spent, SpentOnBoth)
        self.real.spent = spent.real
        if self.emulated is not None:
            self.emulated.spent = spent.emulated

    def twin(self) -> "GpuAnswer":
        """See `SandboxedAnswer.twin`."""
        return GpuAnswer(self.real.twin(), self.emulated.twin() if self.emulated else None, self.why_not)

    @property
    def printed(self) -> str:
        """Output on both devices."""
        return "".join(answer.printed for answer in self._list_answers())

    @property
    def sandbox_seconds(self) -> float:
        """Wall seconds on both devices."""
        return self.real.sandbox_seconds + (self.emulated.sandbox_seconds if self.emulated else 0.0)

    @property
    def processor_seconds(self) -> float:
        """Processor seconds on both devices."""
        return sum(answer.processor_seconds for answer in self._list_answers())

    @property
    def calls(self) -> int:
        """Calls on both devices."""
        return sum(answer.calls for answer in self._list_answers())

    @property
    def deadline(self) -> float:
        """See `SandboxedAnswer`."""
        return self.real.deadline

    @deadline.setter
    def deadline(self, moment: float) -> None:
        for answer in self._list_answers():
            answer.deadline = moment

    @property
    def hung(self) -> bool:
        """True if either device has timed out."""
        return any(answer.hung for answer in self._list_answers())

    @property
    def share_used(self) -> float:
        """See `SandboxedAnswer.share_used`."""
        return sum(answer.share_used for answer in self._list_answers())

    def open(self) -> Reply:
        """Open the GPU's sandbox alone."""
        return self.real.open()

    def close(self) -> None:
        """Close both sandboxes."""
        for answer in self._list_answers():
            answer.close()

    def has(self, function: str) -> bool:
        """See `Answer.has`."""
        return self.real.has(function)

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        """See `Answer.call`."""
        answer: SandboxedAnswer | None = self.real
        if options.get("mode", "plain") != "plain":
            answer = self.emulated
        if answer is None:
            raise NotMeasurable(self.why_not)
        device, lock = ("gpu", gpu_beside_others()) if answer is self.real else ("emulated", nullcontext())
        with lock, span(device, options.get("mode", "plain")):
            value = answer.call(function, *args, returns=returns, **options)
        self.cost, self.echo = answer.cost, answer.echo
        return value

    def fetch(self, kept: RemoteObject, returns: Plan) -> Any:
        """See `Answer.fetch`."""
        return self.real.fetch(kept, returns)

    def load(self, name: str, source: str) -> None:
        """See `Answer.load`."""
        self.real.load(name, source)

    def fresh(self) -> None:
        """See `Answer.fresh`."""
        for answer in self._list_answers():
            answer.fresh()

    def forget(self) -> None:
        """See `Answer.forget`."""
        for answer in self._list_answers():
            answer.forget()

    def resident_bytes(self) -> int:
        """See `Answer.resident_bytes`."""
        return self.real.resident_bytes()

    def measure_times(self, symbol: str, arguments: Sequence[Any], outputs: Sequence[Array], necessary: int) -> Measured:
        """See `timed`."""
        bench = Bench(self.real.box(), symbol)
        try:
            bandwidth = bench.copy_bandwidth()
            contenders = ["answer.so", *(["torch"] if bench.has_torch() else [])]
            return bench.measure(arguments, contenders, outputs, necessary, bandwidth)
        except PrerequisiteError as error:
            raise NotMeasurable(str(error)) from None

    def _list_answers(self) -> list[SandboxedAnswer]:
        return [self.real, self.emulated] if self.emulated is not None else [self.real]


def timed(answer: Answer, symbol: str, arguments: Sequence[Any], outputs: Sequence[Array], necessary: int) -> Measured:
    """Time a submission on a GPU, interleaved with PyTorch's equivalent if installed.

    Args:
        arguments: ints, "stream", inputs as `{"shape", "dtype", "seeds"}` and outputs as `{"shape", "dtype"}`.
        necessary: bytes that any submission must read and write.

    Raises:
        NotMeasurable: the answer runs on no GPU, or the GPU's driver does not respond.
    """
    if not isinstance(answer, GpuAnswer):
        raise NotMeasurable("time is not emulated: this needs a GPU")
    return answer.measure_times(symbol, arguments, outputs, necessary)


def located(answer: Answer, report: Report) -> Report:
    """Return the report with source lines in place of addresses, if the build has them."""
    if isinstance(answer, GpuAnswer) and answer.emulated is not None:
        answer = answer.emulated
    if not isinstance(answer, EmulatedAnswer) or not report.defects:
        return report
    return resolve(report, Path(answer.target.folder) / CHECKED, answer.sources)
