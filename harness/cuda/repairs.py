"""A copy of an answer that nvcc refuses, repaired as little as gets it past the places it stopped at."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.cuda.build import build
from harness.cuda.gate import CompilerError, CompilerResult, gate
from harness.cuda.gate_messages import suggested
from harness.cuda.repair_rules import ProposedRepair, RefusedFile, proposed
from harness.errors import HarnessError
from harness.model import Repair, Tier
from harness.sandbox import scratch

MOST_REPAIRS = 4
"""An answer that takes more of them is none that nearly builds."""
_LARGEST = 1 << 20
"""Bytes of a file that is repaired."""


@dataclass(frozen=True)
class RepairedCopy:
    """What came of repairing.

    Attributes:
        repairs: those after which the compiler got past the place it had stopped at, in this order.
        built: whether the copy compiles.
        text: why it does not.
    """

    repairs: tuple[Repair, ...]
    built: bool
    text: str = ""


def repaired_copy(
    folder: Path, entries: Sequence[str], symbols: Sequence[str], into: Path, *, tier: Tier,
    spared: Collection[str] = (),
) -> RepairedCopy:  # fmt: skip
    """Copy an answer and repair the copy until it compiles or no rule knows the next fault.

    Args:
        folder: the answer.
        entries: its files to compile, relative to it.
        symbols: C functions that the library must export.
        into: an empty folder for the copy.
        tier: how the compilers are held.
        spared: files that are never changed.

    Raises:
        BoxError: the box could not be started.
    """
    names = _copied(folder, into) - {*spared}
    repairs: list[Repair] = []
    said = gate(into, entries, symbols, tier=tier, optimised=False)
    while said.ok is False and len(repairs) < MOST_REPAIRS:
        after = _repaired(into, entries, symbols, names, said, tier)
        if after is None:
            break
        repair, said = after
        repairs.append(repair)
    return RepairedCopy(tuple(repairs), said.ok is True, said.text)


def _repaired(
    into: Path, entries: Sequence[str], symbols: Sequence[str], names: Collection[str], said: CompilerResult, tier: Tier
) -> tuple[Repair, CompilerResult] | None:
    """One repair that gets the compiler past its first error, and what it says then; None where none does."""
    if not said.errors or said.errors[0].file not in names:
        return None
    path = into / said.errors[0].file
    before = path.read_bytes()
    if len(before) > _LARGEST:
        return None

    def asked(error: CompilerError) -> str:
        return _suggestion(into, entries, error, tier)

    text = before.decode(errors="surrogateescape")
    proposal = proposed(RefusedFile(said.errors[0].file, text, said.errors, asked))
    if proposal is None:
        return None
    path.write_bytes(proposal.text.encode(errors="surrogateescape"))
    after = gate(into, entries, symbols, tier=tier, optimised=False)
    if not _past(proposal, after):
        path.write_bytes(before)
        return None
    return proposal.repair, after


def _past(proposal: ProposedRepair, after: CompilerResult) -> bool:
    """Whether the errors that a repair answers are gone, which shows that it met the fault."""
    return after.ok is not None and proposal.answers.isdisjoint((e.file, e.line) for e in after.errors)


def _suggestion(folder: Path, entries: Sequence[str], error: CompilerError, tier: Tier) -> str:
    """The name that the compiler of the emulated device suggests: nvcc's own front end suggests none."""
    try:
        with scratch.folder() as into:
            return suggested(build(folder, entries, into, tier=tier, instrumented=False).errors, error)
    except HarnessError:  # there is no such compiler, or the machine is too busy for it
        return ""


def _copied(folder: Path, into: Path) -> set[str]:
    """Copy the files of an answer, to be changed; their paths relative to it."""
    into.chmod(0o755)
    names = set()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() and not path.is_symlink():
            (into / name).mkdir(mode=0o755)
        elif path.is_file() and not path.is_symlink():
            (into / name).write_bytes(path.read_bytes())
            (into / name).chmod(0o644)
            names.add(name)
    return names
