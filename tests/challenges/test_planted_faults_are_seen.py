"""Planted faults of every challenge fail the criterion they name, right answers pass, and null ones earn nothing."""

import pytest

from harness.model import Outcome
from harness.model.submissions.submission import offers
from harness.mutation.checks.check import assess, mutant_evidence, open_in_sandbox
from harness.mutation.checks.null_answer import NullAnswer
from harness.probing import Mutant, Variant
from harness.probing.challenge_code.code import ChallengeCode
from tests import shares
from tests.checkout import WORKSPACE, code_of

SEED = shares.number()
CODES = {id: code_of(id) for id in sorted(WORKSPACE.challenges())}
PROMISED = {
    "beam_search": (40, 8), "flash_attention": (60, 12), "flash_attention_backward": (60, 12),
    "fused_softmax_topk": (25, 20), "kv_cache": (30, 10), "layernorm_backward": (30, 10), "ternary_training": (80, 12),
    "tree_verification": (40, 8),
}  # fmt: skip
"""Of each challenge, how many mutants and variants there are at least."""
IN_SANDBOX = sorted({*CODES} - {"fused_softmax_topk"})
"""Those whose right answers pass whole; a kernel's are judged in test_softmax_topk_faults_are_seen.py."""
TIMED = {"backward_speed", "decode_speed", "speed"}
"""No question of right or wrong: how fast an answer is, compared with the reference."""
GROWTH = {"cost_growth", "decode_cost", "training_cost"}
"""What a busy machine may leave open."""
MUTANTS = {f"{id}-{mutant.name}": (id, mutant) for id, code in CODES.items() for mutant in code.mutants}
OF_THE_ANCHOR = {name: id for name, (id, mutant) in MUTANTS.items() if mutant.criterion == CODES[id].challenge.anchor}
IN_EVERY_RUN = shares.one_of_each(MUTANTS, OF_THE_ANCHOR.get)


def marks(name: str) -> list[pytest.MarkDecorator]:
    timed = MUTANTS[name][1].criterion in TIMED
    return [pytest.mark.alone] * timed + [pytest.mark.every_run] * (name in IN_EVERY_RUN)


RIGHT = [
    pytest.param(id, right, id=f"{id}-{right.name if right else 'reference'}")
    for id in IN_SANDBOX
    for right in (None, *CODES[id].variants)
]


@pytest.mark.parametrize(
    ("challenge", "mutant"), [pytest.param(*case, id=name, marks=marks(name)) for name, case in MUTANTS.items()]
)
def test_a_mutant_fails_the_criterion_it_names(challenge: str, mutant: Mutant) -> None:
    """And by its own fault."""
    code = CODES[challenge]
    with open_in_sandbox(code, code.source(mutant)) as answer:
        evidence = mutant_evidence(code, answer, SEED, mutant)
    assert (evidence.outcome, evidence.rests_on) == (Outcome.FAILED, None), evidence


@pytest.mark.parametrize(("challenge", "right"), RIGHT)
def test_a_right_answer_passes_every_probe(challenge: str, right: Variant | None) -> None:
    """But for options that it does not claim, and for what a variant says that it does not meet."""
    code = CODES[challenge]
    spared = {*TIMED, *not_met(code, right)}
    asked = [c for c in code.challenge.criteria if c.probes and c.id not in spared]
    offered = right.capabilities if right else None
    judged = [c.id for c in asked if offered is None or not c.capability or offers(offered, c.capability)]
    with open_in_sandbox(code, code.source(right), right.capabilities if right else {}) as answer:
        evidence = [e for id in judged for e in assess(code, answer, SEED, id, shares.drawn_cases())]
    wrong = [e for e in evidence if e.outcome is not Outcome.PASSED]
    wrong = [e for e in wrong if e.criterion not in GROWTH or e.outcome is not Outcome.NOT_RUN]
    assert wrong == [], {e.criterion: e.detail for e in wrong}


def not_met(code: ChallengeCode, right: Variant | None) -> set[str]:
    """Return what a variant need not meet: a file of its own need not offer options, and costs are the reference's."""
    if right is None:
        return set()
    options = {c.id for c in code.challenge.criteria if c.capability}
    if code.challenge.id == "kv_cache":
        return options if right.file else {"decode_cost", "memory_growth", "memory_report"}
    return {*right.unmet, *(options if right.file and code.challenge.id == "beam_search" else ())}


@pytest.mark.parametrize("kind", NullAnswer.KINDS)
@pytest.mark.parametrize("challenge", IN_SANDBOX)
def test_a_null_answer_earns_nothing(challenge: str, kind: str) -> None:
    evidence = assess(CODES[challenge], NullAnswer(kind), SEED)
    assert [e.criterion for e in evidence if e.satisfied] == []


@pytest.mark.parametrize("challenge", CODES)
def test_there_are_as_many_faults_and_variants_as_promised(challenge: str) -> None:
    """And every probed criterion that the emulated device can tell has a mutant."""
    code, (mutants, variants) = CODES[challenge], PROMISED[challenge]
    assert (len(code.mutants) >= mutants, len(code.variants) >= variants) == (True, True)
    probed = {c.id for c in code.challenge.criteria if c.probes}
    named = {m.criterion for m in code.mutants} | {m.criterion for m in code.property_mutants}
    assert named == probed - ({"speed"} if challenge == "fused_softmax_topk" else set())
