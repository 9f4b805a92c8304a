"""Places in the list for positions are seen by every seed, also where another fault spoils what is emitted."""

from pathlib import Path

from harness.probing import Mutant
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.challenge_code.mutants import module_of
from harness.probing.probe import run
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
FAULTS = ("logits by slot", "positions by slot")


def test_positions_are_charged_beside_a_fault_of_parents_by_every_seed() -> None:
    code = ChallengeCode(WORKSPACE, WORKSPACE.challenge("tree_verification"))
    edits = tuple(edit for mutant in code.mutants if mutant.name in FAULTS for edit in mutant.edits)
    both = Mutant("both", "takes logits and positions by slot", criterion="positions", edits=edits)
    answer, probe = LocalAnswer(module_of("answer", code.source(both))), code.probes["positions_change_nothing"]
    found = [run(probe, answer, seed, shrink=False) for seed in range(20)]
    assert {(result.passed, result.obstacle) for result in found} == {(False, None)}
