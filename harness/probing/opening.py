"""From an answer's files to something probes can call: loaded in the box, after a build where there is one."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from harness.errors import BusyMachineError
from harness.languages import AnswerFiles, Device, Runnable, language, literals
from harness.model import Challenge, Location
from harness.probing.answers import SandboxedAnswer
from harness.probing.device import EmulatedAnswer, GpuAnswer, LaunchedAnswer
from harness.probing.reply_failure import IMPORT, describe_wait
from harness.sandbox import CallStatus, Reply, WorkerSpec
from harness.timing.exclusive import MachineBusy, beside_others, second_try

GradedAnswer = SandboxedAnswer | GpuAnswer
"""An answer in the box."""


@dataclass(frozen=True)
class OpenedAnswer:
    """An answer that can be probed, or why it cannot.

    Attributes:
        answer: for the probes; None when there is nothing to call.
        fault: why it does not build or load, which is the answer's failure; empty when it does.
        incomplete: whether it loads, and lacks functions that the contract names.
        output: what was printed on the way.
        locations: places in the submission that `fault` speaks of.
        unsupported: why this device cannot run it, which is not its failure; empty when it can.
    """

    answer: GradedAnswer | None
    fault: str = ""
    incomplete: bool = False
    output: str = ""
    unsupported: str = ""
    locations: tuple[Location, ...] = ()


@contextmanager
def opened(challenge: Challenge, files: AnswerFiles, device: Device | None = None) -> Iterator[OpenedAnswer]:
    """The answer, loaded in the box for the length of the block.

    Args:
        challenge: what it answers.
        files: what it consists of.
        device: where it runs; the one that every machine has by default.

    Raises:
        BoxError: the box could not be started.
        BusyMachineError: the machine gave the import too little time.
        PrerequisiteError: there is no compiler to build for the device.
    """
    used = language(challenge.language)
    with ExitStack() as stack:
        runnable = stack.enter_context(used.open(files, challenge, device or used.host_device))
        if runnable.target is None:
            yield OpenedAnswer(None, fault=runnable.fault, unsupported=runnable.unsupported)
            return
        with _loaded(
            challenge, used.exposes, _answer(runnable, runnable.target, files, literals(used, files))
        ) as result:
            yield result


def _answer(runnable: Runnable, target: WorkerSpec, files: AnswerFiles, named: frozenset[int]) -> GradedAnswer:
    """What probes call: on one device, or on real hardware with the emulated device beside it."""
    if not runnable.launched:
        return SandboxedAnswer(target, files.capabilities, named)
    emulated = None
    if runnable.emulated is not None:
        emulated = EmulatedAnswer(runnable.emulated, files.capabilities, named)
        emulated.sources = runnable.sources
    if emulated is not None and runnable.emulated is target:
        return emulated
    return GpuAnswer(LaunchedAnswer(target, files.capabilities, named), emulated, runnable.not_emulated)


def _first_opening(answer: GradedAnswer) -> Reply:
    """The reply to the opening; where that waited or was starved, to a second one with no other grade beside it.

    Raises:
        BusyMachineError: the machine gave neither enough time.
    """
    with beside_others():
        reply = answer.open()
    if reply.status is not CallStatus.TIMEOUT or reply.exhausted:
        return reply
    try:
        with second_try(reply.limit, reply.seconds):
            again = answer.open()
    except MachineBusy as busy:
        problem = f"{describe_wait(reply, IMPORT)}; it could not be tried again alone: {busy}"
        raise BusyMachineError(problem) from None
    if again.starved:
        raise BusyMachineError(describe_wait(again, IMPORT))
    return again


@contextmanager
def _loaded(challenge: Challenge, exposes: str, answer: GradedAnswer) -> Iterator[OpenedAnswer]:
    try:
        reply = _first_opening(answer)
        missing = [name for name in challenge.contract.functions if name not in answer.functions]
        if reply.status is not CallStatus.RETURNED:
            late = reply.status is CallStatus.TIMEOUT
            fault = describe_wait(reply, IMPORT) if late else reply.text or "does not load"
            yield OpenedAnswer(answer, fault, output=answer.printed, locations=reply.locations)
        elif missing:
            yield OpenedAnswer(answer, f"the {exposes} no function {', '.join(map(repr, missing))}", incomplete=True)
        else:
            yield OpenedAnswer(answer)
    finally:
        answer.close()
