"""A refused call that changes a cache is seen by every seed, charged once, and nothing else is taken for it."""

import numpy as np
import pytest

from harness.probing import Mutant, NotRun, Variant
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.evidence.charging import charge_once
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.probe import ProbeResult, run
from tests.checkout import code_of

CODE = code_of("kv_cache")
PLAIN = "a_refused_call_changes_nothing"
BY_OPTION = {
    "any_history": PLAIN,
    "sliding_window": "a_refused_call_leaves_a_window",
    "paged": "a_refused_call_leaves_pages",
    "fork": "a_refused_call_leaves_forks",
    "int8": "a_refused_call_leaves_int8",
    "int4": "a_refused_call_leaves_int4",
}
KNOWN = {mutant.name: mutant for mutant in CODE.mutants}
ALSO_BEFORE = ("half a call written", "refused call half applied")
FAULTY = [m for m in (*CODE.module("refusal_mutants").REFUSALS, *map(KNOWN.get, ALSO_BEFORE)) if "leak" not in m.name]


def shown(faulty: Mutant | Variant | None, probe: str = PLAIN, seed: int = 1) -> ProbeResult:
    return run(CODE.probes[probe], LocalAnswer(CODE.import_source(faulty)), seed, shrink=False)


@pytest.mark.parametrize("mutant", FAULTY, ids=lambda mutant: mutant.name)
def test_a_refused_call_that_changes_the_cache_is_seen_by_every_seed(mutant: Mutant) -> None:
    for seed in np.random.default_rng().integers(2**40, size=2):
        found = shown(mutant, BY_OPTION[mutant.criterion], int(seed))
        assert (found.passed, found.title) == (False, "a refused call leaves traces"), seed


@pytest.mark.parametrize(
    "variant", [None, *CODE.variants], ids=lambda variant: variant.name if variant else "reference"
)
def test_right_caches_are_left_alone(variant: Variant | None) -> None:
    assert shown(variant).passed


@pytest.mark.parametrize(
    "name",
    ["no capacity", "silent wrap", "repeated slot accepted", "negative slot accepted", "unknown option accepted"],
)
def test_a_call_that_is_not_refused_is_another_criterions_matter(name: str) -> None:
    assert shown(KNOWN[name]).passed


@pytest.mark.parametrize("name", ["no causal mask", "decode not stored", "scale missing", "float16 store"])
def test_values_that_are_wrong_without_a_refused_call_are_not_charged_to_it(name: str) -> None:
    assert shown(KNOWN[name]).passed


@pytest.mark.parametrize("option", [option for option in BY_OPTION if option != "any_history"])
def test_what_a_plain_cache_does_as_well_is_not_charged_to_an_option(option: str) -> None:
    assert not shown(KNOWN["half a call written"]).passed
    assert shown(KNOWN["half a call written"], BY_OPTION[option]).passed


def test_an_answer_that_never_gives_the_same_twice_is_not_judged() -> None:
    noise = "    return (weights @ v).reshape(q.shape) * np.random.default_rng().uniform(0.5, 1)\n"
    restless = Mutant(
        "restless", "", criterion="ownership", edits=(("    return (weights @ v).reshape(q.shape)\n", noise),)
    )
    with pytest.raises(NotRun, match="identical calls differ"):
        shown(restless)


def test_a_fault_is_charged_to_one_criterion() -> None:
    """Half a refused call is any_history's alone; a missing mask is causality's, whatever the fixed history passes."""

    def charged(name: str, *criteria: str) -> list[tuple[str, str | None]]:
        answer = LocalAnswer(CODE.import_source(KNOWN[name]))
        rubric = map(CODE.challenge.criterion, criteria)
        evidence = [probe_criterion(CODE, c, answer, seed_of(3, c.id), explain=False, share=0.2) for c in rubric]
        return [(e.outcome.value, e.rests_on) for e in charge_once(CODE, evidence)]

    assert charged("half a call written", "capacity", "any_history") == [("passed", None), ("failed", None)]
    assert charged("no causal mask", "causality", "any_history") == [("failed", None), ("not_run", "causality")]
