"""Answers from the files of submissions."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from harness.errors import BusyMachineError
from harness.languages import AnswerFiles, Device, Runnable, language, literals
from harness.model import Challenge, Location
from harness.probing.answers import SandboxedAnswer
from harness.probing.submissions.device import EmulatedAnswer, GpuAnswer, LaunchedAnswer
from harness.probing.submissions.reply_failure import IMPORT, describe_wait
from harness.sandbox import CallStatus, Reply, WorkerSpec
from harness.timing.exclusive import MachineBusy, beside_others, second_try

GradedAnswer = SandboxedAnswer | GpuAnswer
"""Answer in a sandbox."""


@dataclass(frozen=True)
class OpenedAnswer:
    """An answer for probes, or the reason why there is none.

    Attributes:
        fault: reason why the submission fails to build or load, else empty.
        incomplete: true if it loads but lacks functions of the contract.
        output: output of a failed import.
        unsupported: reason why this device cannot run it, else empty.
    """

    answer: GradedAnswer | None
    fault: str = ""
    incomplete: bool = False
    output: str = ""
    unsupported: str = ""
    locations: tuple[Location, ...] = ()


@contextmanager
def open_answer(challenge: Challenge, files: AnswerFiles, device: Device | None = None) -> Iterator[OpenedAnswer]:
    """Load a submission in the sandbox for the block, by default on the device that every machine has.

    Raises:
        BoxError: the sandbox does not start.
        BusyMachineError: other work left the import too little time.
        PrerequisiteError: there is no compiler for the device.
    """
    used = language(challenge.language)
    with ExitStack() as stack:
        runnable = stack.enter_context(used.open(files, challenge, device or used.host_device))
        if runnable.target is None:
            yield OpenedAnswer(None, fault=runnable.fault, unsupported=runnable.unsupported)
            return
        with _load(
            challenge, used.exposes, _make_answer(runnable, runnable.target, files, literals(used, files))
        ) as result:
            yield result


def _make_answer(runnable: Runnable, target: WorkerSpec, files: AnswerFiles, named: frozenset[int]) -> GradedAnswer:
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
    """Open the answer; after a wait, once more with no other grade beside it."""
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
def _load(challenge: Challenge, exposes: str, answer: GradedAnswer) -> Iterator[OpenedAnswer]:
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
