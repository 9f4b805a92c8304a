"""From an answer's files to something probes can call: loaded in the box, after a build where there is one."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.box import Came, Target, detect, scratch
from harness.model import Challenge
from harness.probing.answers import BoxedAnswer
from harness.probing.device import EmulatedAnswer


@dataclass(frozen=True)
class Files:
    """What an answer consists of.

    Attributes:
        folder: its files.
        entries: the module with the contract's functions, or the CUDA files that export them.
        capabilities: optional features it claims.
    """

    folder: Path
    entries: Sequence[str]
    capabilities: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Opened:
    """An answer that can be probed, or why it cannot.

    Attributes:
        answer: for the probes; None when there is nothing to call.
        fault: why it does not build or load, which is the answer's failure; empty when it does.
        output: what was printed on the way.
        unsupported: why this device cannot run it, which is nobody's failure; empty when it can.
    """

    answer: BoxedAnswer | None
    fault: str = ""
    output: str = ""
    unsupported: str = ""


@contextmanager
def opened(challenge: Challenge, files: Files) -> Iterator[Opened]:
    """The answer, loaded in the box for the length of the block.

    Raises:
        BoxError: the box could not be started.
    """
    if challenge.language == "python":
        target = _target(challenge, files.folder, files.entries[0])
        with _loaded(challenge, BoxedAnswer(target, files.capabilities)) as result:
            yield result
        return
    from harness.cuda import emulated

    with scratch.folder() as folder:
        emulation = emulated.emulate(
            files.folder, files.entries, folder, tier=detect(), seconds=challenge.limits.start_seconds
        )
        if not emulation.ok:
            yield Opened(None, unsupported=emulation.why_not)
            return
        target = _target(challenge, folder, emulated.ENTRY)
        answer = EmulatedAnswer(target, files.capabilities)
        answer.sources = tuple(p.relative_to(files.folder).as_posix() for p in files.folder.rglob("*") if p.is_file())
        with _loaded(challenge, answer) as result:
            yield result


def _target(challenge: Challenge, folder: Path, entry: str) -> Target:
    functions = (*challenge.contract.functions, *challenge.contract.optional)
    return Target(folder, entry, functions, challenge.limits, detect())


@contextmanager
def _loaded(challenge: Challenge, answer: BoxedAnswer) -> Iterator[Opened]:
    try:
        reply = answer.open()
        missing = [name for name in challenge.contract.functions if name not in answer.functions]
        if reply.came is not Came.BACK:
            yield Opened(answer, reply.text or "does not load", answer.last_output)
        elif missing:
            what = "entry module has" if challenge.language == "python" else "library exports"
            yield Opened(answer, f"the {what} no function {', '.join(map(repr, missing))}")
        else:
            yield Opened(answer)
    finally:
        answer.close()
