"""What every challenge's mutants, variants and null answers must come to."""

from collections.abc import Collection

from harness.model import Outcome
from harness.model.submissions.submission import offers
from harness.mutation.checks.check import assess, mutant_evidence, open_in_sandbox
from harness.mutation.checks.null_answer import NullAnswer
from harness.probing import Mutant, Variant
from harness.probing.challenge_code.code import ChallengeCode
from tests import shares

SEED = shares.number()
MUTANTS_ONE_IN = 20
"""Of how many mutants one is judged in one run of the tests."""
VARIANTS_ONE_IN = 24
"""Of how many right answers, the reference and the variants, one is: all probes run on each."""
SHARE = shares.drawn_cases()


def drawn_mutants(code: ChallengeCode, costly: Collection[str] = ()) -> list[Mutant]:
    """The mutants of this run: at least one of the criteria of every dimension.

    Those named in `costly`, which take half a minute and more each, have their turn in one run of so many.
    """
    dimensions = {c.id: c.dimension for c in code.challenge.criteria}
    cheap = [m for m in code.mutants if m.name not in costly or shares.has_turn(m.name, MUTANTS_ONE_IN)]
    return shares.share(cheap, MUTANTS_ONE_IN, lambda mutant: dimensions[mutant.criterion])


def drawn_variants(code: ChallengeCode) -> list[Variant | None]:
    """The right answers of this run: the reference, as None, takes its turn with the variants."""
    return shares.share([None, *code.variants], VARIANTS_ONE_IN)


def assert_caught(code: ChallengeCode, mutant: Mutant) -> None:
    """A mutant fails the criterion it names, by its own fault."""
    with open_in_sandbox(code, code.source(mutant)) as answer:
        evidence = mutant_evidence(code, answer, SEED, mutant)
    assert (evidence.outcome, evidence.rests_on) == (Outcome.FAILED, None), evidence


def assert_right(code: ChallengeCode, variant: Variant | None, spared: Collection[str], growth: str) -> None:
    """The reference or a variant passes every probed criterion but the `spared`; `growth` may be left open.

    A variant need not pass those of options that it does not claim. A busy machine may not tell how a cost grows.
    """
    asked = (c for c in code.challenge.criteria if c.probes and c.id not in spared)
    offered = variant.capabilities if variant else None
    judged = [c.id for c in asked if offered is None or not c.capability or offers(offered, c.capability)]
    with open_in_sandbox(code, code.source(variant), variant.capabilities if variant else {}) as answer:
        evidence = [e for id in judged for e in assess(code, answer, SEED, id, SHARE)]
    wrong = [e for e in evidence if e.outcome is not Outcome.PASSED]
    wrong = [e for e in wrong if (e.criterion, e.outcome) != (growth, Outcome.NOT_RUN)]
    assert wrong == [], {e.criterion: e.detail for e in wrong}


def assert_null_earns_nothing(code: ChallengeCode, kind: str) -> None:
    """No criterion gives a null answer any credit."""
    evidence = assess(code, NullAnswer(kind), SEED)
    credited = [e.criterion for e in evidence if e.satisfied]
    assert credited == [], credited


def assert_enough(code: ChallengeCode, mutants: int, variants: int, unseen: frozenset[str] = frozenset()) -> None:
    """There are so many mutants and variants at least, and every probed criterion but the `unseen` has a mutant."""
    assert len(code.mutants) >= mutants, len(code.mutants)
    assert len(code.variants) >= variants, len(code.variants)
    probed = {c.id for c in code.challenge.criteria if c.probes}
    named = {m.criterion for m in code.mutants} | {m.criterion for m in code.property_mutants}
    assert named == probed - unseen, named ^ (probed - unseen)
