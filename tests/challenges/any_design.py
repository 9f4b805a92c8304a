"""Property faults that fit any design: source that wraps the functions of a right answer, and breaks one property."""

from harness.model import Evidence, Outcome
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.evidence.charging import charge_once
from harness.probing.evidence.criteria import probe_criterion, seed_of
from tests.checkout import answer_of

SEED = 11


def designs(code: ChallengeCode) -> dict[str, str]:
    """Sources of right answers that share no line: the reference and the variants that are files of their own."""
    files = {variant.name: code.source(variant) for variant in code.variants if variant.file and not variant.unmet}
    return {"reference": code.source(), **files}


def judged(code: ChallengeCode, source: str, *skipped: str) -> dict[str, Evidence]:
    """Evidence of every probed criterion about an answer, each fault charged once."""
    answer = answer_of(source)
    asked = [c for c in code.challenge.criteria if c.probes and c.id not in skipped]
    found = [probe_criterion(code, c, answer, seed_of(SEED, c.id), explain=False, share=0.1) for c in asked]
    return {e.criterion: e for e in charge_once(code, found)}


def failing(evidence: dict[str, Evidence]) -> set[str]:
    """The criteria that are charged."""
    return {id for id, e in evidence.items() if e.outcome is Outcome.FAILED and e.rests_on is None}
