"""One attack, or benign twin, from its files to what became of it; run in a process of its own."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import JudgeError, SpecError
from harness.languages import AnswerFiles
from harness.model import Challenge, Criterion, Evidence, Limits, Outcome, SignalKind, Submission
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.evidence.charging import apply_anchor
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.evidence.determinism import nondeterminism
from harness.probing.submissions.opening import open_answer
from harness.quality.evidence import claims_evidence, own_tests_evidence
from harness.quality.own_tests import grade_own_tests
from harness.sandbox import detect, snapshot
from harness.sandbox.confinement import scratch
from harness.sandbox.session.worker_session import WorkerSession
from harness.workspace import Workspace
from tests.attacks.attack import Attack, Expect
from tests.attacks.world import World, world

HASTE = {
    "python": {"call_seconds": 3.0, "probes_seconds": 15.0, "tests_seconds": 40.0},
    "cuda": {"call_seconds": 6.0, "probes_seconds": 30.0},
}
"""Limits for attacks, by language: most that do not end within these do not end at all."""
MUTANTS = 8
"""Mutants that an attack's own tests run on: one that notices all of them without looking is credited as well."""
GRACE = 2.0
"""Seconds that processes of the box have to be gone after it is closed."""
PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Verdict:
    """What became of one attack.

    Attributes:
        name: of the mechanism.
        kind: its class.
        challenge: id.
        twin: whether it is honest code.
        wrong: why this is not as it should be; empty when it is.
        signals: kinds of signal raised.
        seconds: wall time.
        seen: what the deciding criteria said, in a line.
    """

    name: str
    kind: str
    challenge: str
    twin: bool = False
    wrong: list[str] = field(default_factory=list)
    signals: list[str] = field(default_factory=list)
    seconds: float = 0.0
    seen: str = ""


@dataclass
class Seen:
    """What the grader saw.

    Attributes:
        evidence: of the criteria that decide.
        said: everything printed and replied, as text.
        signals: kinds of signal raised.
        refused: why it was turned away before a probe called it; empty when it was not.
    """

    evidence: list[Evidence] = field(default_factory=list)
    said: str = ""
    signals: list[str] = field(default_factory=list)
    refused: str = ""


def judge(attack: Attack, repository: Path) -> Verdict:
    """Grade one attack in a fresh world, as far as it takes to decide, and look at the world afterwards.

    Args:
        attack: or benign twin.
        repository: the workspace that its challenge is in.
    """
    start = time.monotonic()
    # what an attack leaves running becomes a child of this process, and is found
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    verdict = Verdict(attack.name, attack.kind, attack.challenge, attack.expect is Expect.HONEST)
    with world(repository, attack.challenge) as place:
        try:
            seen = examine(attack, place, repository)
        except JudgeError as error:
            seen = Seen(said=str(error))
            verdict.wrong.append(f"the grader failed: {error}"[:300])
        verdict.wrong += [*place.stolen(seen.said), *survivors(), *place.damage()]
    verdict.signals = seen.signals
    verdict.wrong += WRONG[attack.expect](seen)
    due = sorted(kind.name for kind in attack.signals)
    if due and not set(due) & set(seen.signals):
        verdict.wrong.append(f"no signal {' or '.join(due)}")
    verdict.seen = seen.refused or "; ".join(
        f"{e.criterion} {e.outcome.value}: {e.detail}"[:200] for e in seen.evidence
    )
    verdict.seconds = round(time.monotonic() - start, 2)
    return verdict


def examine(attack: Attack, place: World, repository: Path) -> Seen:
    """What a grader sees of the attack."""
    workspace = Workspace(repository)
    challenge = workspace.challenge(attack.challenge)
    less = HASTE[challenge.language] if attack.expect is not Expect.HONEST else {}
    limits = Limits.model_validate({**challenge.limits.model_dump(), **less})
    challenge = challenge.model_copy(update={"limits": limits})
    folder = place.submission(attack)
    (folder / "submission.toml").write_text(manifest(attack, challenge), encoding="utf-8")
    try:
        submission = workspace.submission(folder)
        with snapshot(folder) as files:
            return _graded(ChallengeCode(workspace, challenge), submission, files.path, attack)
    except SpecError as refusal:
        return Seen(said=str(refusal), refused=str(refusal))


def survivors() -> list[str]:
    """Processes that outlive the box: what became a child of this process and does not end."""
    deadline = time.monotonic() + GRACE
    while children := _children():
        if time.monotonic() > deadline:
            for pid in children:
                os.kill(pid, signal.SIGKILL)
            return [f"process {pid} is still there" for pid in children]
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        time.sleep(0.01)
    return []


def _children() -> list[int]:
    found = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return [int(pid) for pid in found if not _is_keeper(pid)]


def _is_keeper(pid: str) -> bool:
    """Whether a process is ours that removes what this one leaves, which ends after it."""
    with contextlib.suppress(OSError):
        return os.fsencode(scratch.KEEPER) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return False


def _graded(code: ChallengeCode, submission: Submission, folder: Path, attack: Attack) -> Seen:
    challenge = code.challenge
    decide = [challenge.criterion(id) for id in attack.criteria]
    seen = Seen()
    if not decide or any(c.probes or c.claims for c in decide):
        seen = _probed(code, submission, folder, decide, attack)
    if any(c.tests for c in decide) or attack.tests:
        _run_own_tests(seen, decide, submission, folder, challenge)
    figures = {name: value for item in seen.evidence for name, value in item.measured.items()}
    stated = claims_evidence([c for c in decide if c.claims], submission.claims, figures)
    if decide:
        asked = {c.id for c in decide}
        seen.evidence = [e for e in seen.evidence if e.criterion in asked or attack.expect is Expect.HONEST]
    seen.evidence += stated.values()
    return seen


def _probed(
    code: ChallengeCode, submission: Submission, folder: Path, decide: Sequence[Criterion], attack: Attack
) -> Seen:
    """The anchor and the probed criteria among those that decide; whether replies are steady, where that matters."""
    anchor = code.challenge.criterion(code.challenge.anchor)
    criteria = {c.id: c for c in (anchor, *decide) if c.probes}
    evidence: list[Evidence] = []
    with (
        listening() as said,
        open_answer(code.challenge, AnswerFiles(folder, submission.entries, attack.capabilities)) as opening,
    ):
        answer = opening.answer
        refused = opening.fault or opening.unsupported
        if answer is None or refused:
            kinds = {signal.kind.name for signal in answer.signals} if answer else set()
            return Seen([], "\n".join((*said, refused, opening.output)), sorted(kinds), refused)
        seed = int.from_bytes(os.urandom(6), "big")
        for criterion in criteria.values():
            inputs = seed_of(seed, criterion.id)
            evidence += [probe_criterion(code, criterion, answer, inputs, submission=submission, explain=False)]
        if attack.expect is Expect.HONEST or SignalKind.NONDETERMINISTIC in attack.signals:
            differed = nondeterminism(answer, code.probes_of(anchor)[0], seed)
        else:
            differed = None
        answer.fresh()  # what its last worker did counts as well
        kinds = {signal.kind.name for signal in (*answer.signals, *filter(None, [differed]))}
        said += [answer.printed, *map(repr, evidence)]
    return Seen(apply_anchor(evidence, anchor.id, set(criteria)), "\n".join(said), sorted(kinds))


def _run_own_tests(
    seen: Seen, decide: Sequence[Criterion], submission: Submission, folder: Path, challenge: Challenge
) -> None:
    """Add what the answer's own tests earned; or what they printed, where no mark of theirs decides."""
    seconds = challenge.limits.tests_seconds
    if fed := [c for c in decide if c.tests]:
        earned = own_tests_evidence(fed, submission, folder, detect(), seed=0, mutants=MUTANTS, seconds=seconds)
        seen.evidence += earned.values()
        return
    command = submission.tests.command if submission.tests else None
    seen.said += grade_own_tests(
        folder, command, tier=detect(), entries=submission.entries, mutants=MUTANTS, seconds=seconds
    ).output  # fmt: skip


@contextmanager
def listening() -> Iterator[list[str]]:
    """Everything that boxes print and reply for the length of the block."""
    said: list[str] = []
    call, close = WorkerSession.call, WorkerSession.close

    def heard(box: WorkerSession, *args: Any, **kwargs: Any) -> Any:
        reply = call(box, *args, **kwargs)
        said.append(f"{reply.text} {_text(reply.value)} {_text(reply.echo)}")
        return reply

    def closed(box: WorkerSession) -> None:
        said.append(box.output())
        close(box)

    WorkerSession.call, WorkerSession.close = heard, closed  # type: ignore[method-assign]
    try:
        yield said
    finally:
        WorkerSession.call, WorkerSession.close = call, close  # type: ignore[method-assign]


def _text(value: Any) -> str:
    """What a value spells, should it be made of a secret's bytes."""
    if isinstance(value, np.ndarray):
        numbers = value.ravel()[:4096]
        fits = (numbers >= 0) & (numbers < 128)
        return numbers.tobytes().decode("latin-1") + bytes(numbers[fits].astype(np.uint8)).decode("latin-1")
    return "".join(map(_text, value)) if isinstance(value, tuple | list) else str(value)


def _no_credit(seen: Seen) -> Iterator[str]:
    for item in seen.evidence:
        if item.satisfied > 0:
            yield f"`{item.criterion}` came out {item.outcome.value}"
        elif item.outcome is Outcome.JUDGE_ERROR:
            yield f"`{item.criterion}`: {item.detail}"


def _held(seen: Seen) -> Iterator[str]:
    for item in seen.evidence:
        if item.outcome is Outcome.JUDGE_ERROR:
            yield f"`{item.criterion}`: {item.detail}"


def _refused(seen: Seen) -> Iterator[str]:
    if not seen.refused:
        yield from _no_credit(seen)


def _honest(seen: Seen) -> Iterator[str]:
    if seen.refused:
        yield f"refused: {seen.refused}"
    for item in seen.evidence:
        if item.outcome not in (Outcome.PASSED, Outcome.PARTIAL, Outcome.UNSUPPORTED):
            yield f"`{item.criterion}` came out {item.outcome.value}: {item.detail}"
    for kind in seen.signals:
        yield f"signal {kind}"


WRONG = {Expect.NO_CREDIT: _no_credit, Expect.HELD: _held, Expect.REFUSED: _refused, Expect.HONEST: _honest}
"""Why what was seen is not what must become of the submission, by what must."""


def manifest(attack: Attack, challenge: Challenge) -> str:
    """The submission.toml of an attack."""
    entry: object = attack.entry[0] if challenge.language == "python" else list(attack.entry)
    tables: dict[str, Mapping[str, object]] = {
        "submission": {
            "model": "attacker", "challenge": challenge.id, "language": challenge.language, "entry": entry,
            "provenance": "model-output",
        },
        "capabilities": attack.capabilities,
        "tests": {"command": list(attack.tests)} if attack.tests else {},
    }  # fmt: skip
    lines = [
        f"[{name}]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in table.items())
        for name, table in tables.items()
        if table
    ]
    lines += [f"[[claims]]\nquantity = {_toml(name)}\nvalue = {value}\n" for name, value in attack.claims.items()]
    return "\n".join(lines)


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return str(value).lower() if isinstance(value, bool | int) else f'"{value}"'


def without_answer(attack: Attack, why: str) -> Verdict:
    """The verdict on an attack whose grader did not live to give one."""
    return Verdict(attack.name, attack.kind, attack.challenge, attack.expect is Expect.HONEST, [why])
