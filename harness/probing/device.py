"""An answer in CUDA: on the emulated device, and on a GPU where there is one."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from harness.cuda.gpu import Bench, Measured
from harness.cuda.report import Report
from harness.cuda.symbols import resolve
from harness.errors import PrerequisiteError
from harness.model import Signal
from harness.probing.answers import Answer, Cost, SandboxedAnswer, Spent
from harness.probing.failures import NotMeasurable
from harness.sandbox import Array, Plan, RemoteObject, Reply, ServedUse
from harness.timing.exclusive import gpu_beside_others
from harness.timing.timeline import span

CHECKED = "instrumented.so"
"""The build whose reports hold addresses."""


class LaunchedAnswer(SandboxedAnswer):
    """As any boxed answer; the driver's `launch` runs the answer's function, which is named first."""

    def _named(self, function: str, args: tuple[Any, ...]) -> str:
        return str(args[0]) if function == "launch" and args else function


class EmulatedAnswer(LaunchedAnswer):
    """The box holds the driver and both builds."""

    sources: Collection[str] = ()
    """The answer's files, relative to its folder."""

    def twin(self) -> Self:
        """As `SandboxedAnswer.twin`."""
        twin = super().twin()
        twin.sources = self.sources
        return twin


@dataclass(frozen=True)
class SpentOnBoth(Spent):
    """The sum of what a GPU and the emulated device beside it have cost, and each of the two."""

    real: Spent = field(default_factory=Spent)
    emulated: Spent = field(default_factory=Spent)

    @classmethod
    def of(cls, real: Spent, emulated: Spent) -> Self:
        """The sum of the two."""
        return cls(**vars(real + emulated), real=real, emulated=emulated)

    def __add__(self, more: Spent) -> Self:
        assert isinstance(more, SpentOnBoth)
        return self.of(self.real + more.real, self.emulated + more.emulated)

    def __sub__(self, less: Spent) -> Self:
        assert isinstance(less, SpentOnBoth)
        return self.of(self.real - less.real, self.emulated - less.emulated)


class GpuAnswer:
    """An answer on a GPU: plain calls run there, and what only the emulated device can tell is asked of that.

    Attributes:
        real: the answer on the GPU.
        emulated: the answer on the emulated device; None where it cannot run there.
        why_not: why it cannot.
        lanes: as of `SandboxedAnswer`; a worker waits a second for the GPU's driver, and keeps no processor busy.
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
        """The C functions that the library for the GPU exports."""
        return self.real.functions

    @property
    def signals(self) -> list[Signal]:
        """What it did, on either device, that honest code has no reason to do."""
        return [signal for answer in self._both() for signal in answer.signals]

    @signals.setter
    def signals(self, signals: Sequence[Signal]) -> None:
        elsewhere = [] if self.emulated is None else [s for s in self.emulated.signals if s in signals]
        self.real.signals = [signal for signal in signals if signal not in elsewhere]
        if self.emulated is not None:
            self.emulated.signals = elsewhere

    @property
    def spent(self) -> Spent:
        """What it has cost so far."""
        return SpentOnBoth.of(self.real.spent, Spent() if self.emulated is None else self.emulated.spent)

    @spent.setter
    def spent(self, spent: Spent) -> None:
        assert isinstance(spent, SpentOnBoth)
        self.real.spent = spent.real
        if self.emulated is not None:
            self.emulated.spent = spent.emulated

    def twin(self) -> "GpuAnswer":
        """Open a twin on both devices; see `SandboxedAnswer.twin`."""
        return GpuAnswer(self.real.twin(), self.emulated.twin() if self.emulated else None, self.why_not)

    @property
    def printed(self) -> str:
        """The last of what it printed on either."""
        return "".join(answer.printed for answer in self._both())

    @property
    def sandbox_seconds(self) -> float:
        """Time spent in both boxes."""
        return self.real.sandbox_seconds + (self.emulated.sandbox_seconds if self.emulated else 0.0)

    @property
    def processor_seconds(self) -> float:
        """Processor time of the calls on both."""
        return sum(answer.processor_seconds for answer in self._both())

    @property
    def calls(self) -> int:
        """Calls made on either."""
        return sum(answer.calls for answer in self._both())

    @property
    def deadline(self) -> float:
        """When the grade is cut off."""
        return self.real.deadline

    @deadline.setter
    def deadline(self, moment: float) -> None:
        for answer in self._both():
            answer.deadline = moment

    @property
    def hung(self) -> bool:
        """Whether something that was asked of it did not end, on either."""
        return any(answer.hung for answer in self._both())

    @property
    def share_used(self) -> float:
        """Time charged on both over what is allowed for all probes."""
        return sum(answer.share_used for answer in self._both())

    def open(self) -> Reply:
        """Open the box with the GPU; the other is opened when it is asked."""
        return self.real.open()

    def close(self) -> None:
        """Close both boxes."""
        for answer in self._both():
            answer.close()

    def has(self, function: str) -> bool:
        """As `Answer.has`."""
        return self.real.has(function)

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        """As `Answer.call`; a launch in another mode than plain goes to the emulated device.

        Raises:
            NotMeasurable: only the emulated device could tell, and it cannot run the answer.
        """
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
        """As `Answer.fetch`."""
        return self.real.fetch(kept, returns)

    def load(self, name: str, source: str) -> None:
        """As `Answer.load`."""
        self.real.load(name, source)

    def fresh(self) -> None:
        """As `Answer.fresh`."""
        for answer in self._both():
            answer.fresh()

    def forget(self) -> None:
        """As `Answer.forget`."""
        for answer in self._both():
            answer.forget()

    def resident_bytes(self) -> int:
        """As `Answer.resident_bytes`."""
        return self.real.resident_bytes()

    def timed(self, symbol: str, arguments: Sequence[Any], outputs: Sequence[Array], necessary: int) -> Measured:
        """As the function `timed`."""
        bench = Bench(self.real.box(), symbol)
        try:
            bandwidth = bench.copy_bandwidth()
            contenders = ["answer.so", *(["torch"] if bench.has_torch() else [])]
            return bench.measure(arguments, contenders, outputs, necessary, bandwidth)
        except PrerequisiteError as error:
            raise NotMeasurable(str(error)) from None

    def _both(self) -> list[SandboxedAnswer]:
        return [self.real, self.emulated] if self.emulated is not None else [self.real]


def timed(answer: Answer, symbol: str, arguments: Sequence[Any], outputs: Sequence[Array], necessary: int) -> Measured:
    """Time an answer on a GPU, in turns with PyTorch's way of doing the same where that is installed.

    Args:
        answer: to time.
        symbol: the C function.
        arguments: ints, "stream", inputs as `{"shape", "dtype", "seeds"}` and outputs as `{"shape", "dtype"}`.
        outputs: the plans of what it writes.
        necessary: bytes that any answer must read and write.

    Raises:
        NotMeasurable: it runs on no GPU, or the GPU's driver does not answer.
    """
    if not isinstance(answer, GpuAnswer):
        raise NotMeasurable("time is not emulated: this needs a GPU")
    return answer.timed(symbol, arguments, outputs, necessary)


def located(answer: Answer, report: Report) -> Report:
    """The report with the author's file and line in place of addresses, where the build can be asked."""
    if isinstance(answer, GpuAnswer) and answer.emulated is not None:
        answer = answer.emulated
    if not isinstance(answer, EmulatedAnswer) or not report.defects:
        return report
    return resolve(report, Path(answer.target.folder) / CHECKED, answer.sources)
