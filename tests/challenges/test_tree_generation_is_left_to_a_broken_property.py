"""What `generate` does with a wrong verification is charged to the property that the verification breaks."""

from harness.model import Obstacle
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.probe import run
from tests.checkout import code_of

TITLE = "what a node off the greedy path holds changes what is emitted"
SEEDS = range(200)


def test_generation_is_left_to_its_verifications_in_every_draw():
    code = code_of("tree_verification")
    slot = next(mutant for mutant in code.mutants if mutant.name == "logits by slot")
    probe = code.probes["generation_is_greedy_decoding"]
    found = [run(probe, LocalAnswer(code.import_source(slot)), seed, shrink=False) for seed in SEEDS]
    failed = [result for result in found if not result.passed]
    assert len(failed) > len(SEEDS) // 2  # else the mutant shows nothing here
    assert {(result.obstacle, result.title) for result in failed} == {(Obstacle.FAULT, TITLE)}
