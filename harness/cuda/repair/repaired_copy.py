"""A repaired copy of a submission that nvcc refuses."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.cuda.check.messages import find_suggestion
from harness.cuda.check.verdict import CompilerError, CompilerResult, gate
from harness.cuda.emulator.build import build
from harness.cuda.repair.rules import ProposedRepair, RefusedFile, propose_repair
from harness.errors import HarnessError
from harness.model import Repair, Tier
from harness.sandbox.confinement import scratch

MOST_REPAIRS = 4
"""Most repairs; a submission that needs more does not nearly build."""
_LARGEST = 1 << 20
"""Most bytes of a file to repair."""


@dataclass(frozen=True)
class RepairedCopy:
    """The outcome of repairing.

    Attributes:
        repairs: repairs that got the compiler past its first error, in order.
        built: True if the copy compiles.
        text: why it does not.
    """

    repairs: tuple[Repair, ...]
    built: bool
    text: str = ""


def repair_copy(
    folder: Path,
    entries: Sequence[str],
    symbols: Sequence[str],
    into: Path,
    *,
    tier: Tier,
    spared: Collection[str] = (),
) -> RepairedCopy:
    """Repair a copy in the empty folder `into` until it compiles, no rule knows the fault, or `MOST_REPAIRS` were made.

    Files in `spared` stay unchanged; `symbols` are the C functions that the library must export.
    """
    names = _copy_files(folder, into) - {*spared}
    repairs: list[Repair] = []
    said = gate(into, entries, symbols, tier=tier, optimised=False)
    while said.ok is False and len(repairs) < MOST_REPAIRS:
        after = _repair_once(into, entries, symbols, names, said, tier)
        if after is None:
            break
        repair, said = after
        repairs.append(repair)
    return RepairedCopy(tuple(repairs), said.ok is True, said.text)


def _repair_once(
    into: Path, entries: Sequence[str], symbols: Sequence[str], names: Collection[str], said: CompilerResult, tier: Tier
) -> tuple[Repair, CompilerResult] | None:
    if not said.errors or said.errors[0].file not in names:
        return None
    path = into / said.errors[0].file
    before = path.read_bytes()
    if len(before) > _LARGEST:
        return None

    def suggest(error: CompilerError) -> str:
        return _find_suggestion(into, entries, error, tier)

    text = before.decode(errors="surrogateescape")
    proposal = propose_repair(RefusedFile(said.errors[0].file, text, said.errors, suggest))
    if proposal is None:
        return None
    path.write_bytes(proposal.text.encode(errors="surrogateescape"))
    after = gate(into, entries, symbols, tier=tier, optimised=False)
    if not _is_past(proposal, after):
        path.write_bytes(before)
        return None
    return proposal.repair, after


def _is_past(proposal: ProposedRepair, after: CompilerResult) -> bool:
    # the errors that a repair addresses must be gone to confirm the fault
    return after.ok is not None and proposal.answers.isdisjoint((e.file, e.line) for e in after.errors)


def _find_suggestion(folder: Path, entries: Sequence[str], error: CompilerError, tier: Tier) -> str:
    # the emulated device's compiler suggests names, nvcc's front end does not
    try:
        with scratch.folder() as into:
            return find_suggestion(build(folder, entries, into, tier=tier, instrumented=False).errors, error)
    except HarnessError:  # no such compiler, or too busy a machine
        return ""


def _copy_files(folder: Path, into: Path) -> set[str]:
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
