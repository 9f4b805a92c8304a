"""From an answer's files to something probes can call: loaded in the box, after a build where there is one."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.model import Challenge
from harness.probing.answers import SandboxedAnswer
from harness.probing.device import EmulatedAnswer, GpuAnswer, LaunchedAnswer
from harness.sandbox import CallStatus, WorkerSpec, detect, scratch

if TYPE_CHECKING:
    from harness.cuda.gpu import GpuDevice


@dataclass(frozen=True)
class AnswerFiles:
    """What an answer consists of.

    Attributes:
        folder: its files.
        entries: the module with the contract's functions, or the CUDA files that export them.
        capabilities: optional features it claims.
    """

    folder: Path
    entries: Sequence[str]
    capabilities: Mapping[str, Any] = field(default_factory=dict)


GradedAnswer = SandboxedAnswer | GpuAnswer
"""An answer in the box."""


@dataclass(frozen=True)
class OpenedAnswer:
    """An answer that can be probed, or why it cannot.

    Attributes:
        answer: for the probes; None when there is nothing to call.
        fault: why it does not build or load, which is the answer's failure; empty when it does.
        output: what was printed on the way.
        unsupported: why this device cannot run it, which is nobody's failure; empty when it can.
    """

    answer: GradedAnswer | None
    fault: str = ""
    output: str = ""
    unsupported: str = ""


@contextmanager
def opened(challenge: Challenge, files: AnswerFiles, gpu: "GpuDevice | None" = None) -> Iterator[OpenedAnswer]:
    """The answer, loaded in the box for the length of the block.

    Args:
        challenge: what it answers.
        files: what it consists of.
        gpu: what an answer in CUDA runs on besides the emulated device.

    Raises:
        BoxError: the box could not be started.
        PrerequisiteError: there is no compiler to build for the GPU.
    """
    if challenge.language == "python":
        target = _target(challenge, files.folder, files.entries[0])
        with _loaded(challenge, SandboxedAnswer(target, files.capabilities)) as result:
            yield result
        return
    with scratch.folder() as folder, scratch.folder() as beside:
        try:
            emulated, why_not = _emulated(challenge, files, folder)
        except _NotAllowed as reason:
            yield OpenedAnswer(None, fault=str(reason))
            return
        if gpu is not None:
            opening: AbstractContextManager[OpenedAnswer] = _on_gpu(challenge, files, beside, gpu, emulated, why_not)
        elif emulated is not None:
            opening = _loaded(challenge, emulated)
        else:
            opening = nullcontext(OpenedAnswer(None, unsupported=why_not))
        with opening as result:
            yield result


class _NotAllowed(Exception):
    """The answer must not run beside the emulated device."""


def _emulated(challenge: Challenge, files: AnswerFiles, folder: Path) -> tuple[EmulatedAnswer | None, str]:
    """The answer built for the emulated device, or why it cannot run there.

    Raises:
        _NotAllowed: it could falsify what the device reports.
    """
    from harness.cuda import emulated
    from harness.cuda.host_compiler import host_compiler

    if host_compiler() is None:
        return None, "no C++ compiler here for the emulated device: install g++ or clang++, or `pip install ziglang`"
    emulation = emulated.emulate(
        files.folder, files.entries, folder, tier=detect(), seconds=challenge.limits.start_seconds
    )
    if emulation.refused:
        raise _NotAllowed(emulation.why_not)
    if not emulation.ok:
        return None, emulation.why_not
    answer = EmulatedAnswer(_target(challenge, folder, emulated.ENTRY), files.capabilities)
    answer.sources = tuple(p.relative_to(files.folder).as_posix() for p in files.folder.rglob("*") if p.is_file())
    return answer, ""


@contextmanager
def _on_gpu(
    challenge: Challenge,
    files: AnswerFiles,
    folder: Path,
    gpu: "GpuDevice",
    emulated: EmulatedAnswer | None,
    why_not: str,
) -> Iterator[OpenedAnswer]:
    """The answer built for a GPU, with the emulated device for what a GPU cannot tell."""
    from harness.cuda.gpu import build_for, target

    build = build_for(gpu, files.folder, files.entries, folder, tier=detect())
    if not build.ok:
        yield OpenedAnswer(None, build.errors)
        return
    real = target(gpu, build, challenge.contract.functions, detect(), challenge.limits)
    with _loaded(challenge, GpuAnswer(LaunchedAnswer(real, files.capabilities), emulated, why_not)) as result:
        yield result


def _target(challenge: Challenge, folder: Path, entry: str) -> WorkerSpec:
    functions = (*challenge.contract.functions, *challenge.contract.optional)
    return WorkerSpec(folder, entry, functions, challenge.limits, detect())


@contextmanager
def _loaded(challenge: Challenge, answer: GradedAnswer) -> Iterator[OpenedAnswer]:
    try:
        reply = answer.open()
        missing = [name for name in challenge.contract.functions if name not in answer.functions]
        if reply.status is not CallStatus.RETURNED:
            yield OpenedAnswer(answer, reply.text or "does not load", answer.printed)
        elif missing:
            what = "entry module has" if challenge.language == "python" else "library exports"
            yield OpenedAnswer(answer, f"the {what} no function {', '.join(map(repr, missing))}")
        else:
            yield OpenedAnswer(answer)
    finally:
        answer.close()
