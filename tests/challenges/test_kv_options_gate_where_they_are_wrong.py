"""A claimed option of a cache gates where its values are wrong, and not where it is missing or only costs too much."""

from dataclasses import replace

import pytest

from harness.model import Evidence, Outcome
from harness.model.evidence.evidence import Obstacle
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.evidence.criteria import probe_criterion
from harness.probing.probe import run
from tests.checkout import answer_of, code_of

CODE = code_of("kv_cache")
FAULTY = {mutant.name: mutant for mutant in CODE.mutants}


def judged(source: str, criterion: str) -> Evidence:
    answer = answer_of(source)
    return probe_criterion(CODE, CODE.challenge.criterion(criterion), answer, 5, explain=False, brief=True)


def test_wrong_values_gate():
    wrong = judged(CODE.source(FAULTY["first kv head for all"]), "gqa")
    assert (wrong.outcome, wrong.wrong_option, wrong.gates) == (Outcome.FAILED, True, True)


def test_an_option_that_is_missing_gates_nothing():
    missing = judged(CODE.source().replace("def fork(", "def unnamed("), "fork")
    assert (missing.outcome, missing.obstacle) == (Outcome.FAILED, Obstacle.CALL)
    assert not missing.wrong_option and not missing.gates


def test_what_an_option_costs_is_no_part_of_a_reward():
    cost = {probe.name for probe in CODE.probes_of(CODE.challenge.criterion("int8")) if probe.measures_cost}
    assert cost == {"int8_takes_fewer_bytes"}
    assert judged(CODE.source(FAULTY["int8 not compressed"]), "int8").outcome is Outcome.PASSED


def test_a_window_that_takes_too_many_tokens_is_part_of_a_reward_and_gives_no_wrong_values():
    found = judged(CODE.source(FAULTY["window that counts what it shows"]), "sliding_window")
    assert found.title == "accepts a decode beyond max_length under a window"
    assert not found.wrong_option and not found.gates


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("mutant", "probe"),
    [
        ("released twice", "every_slot_released_is_empty"),
        ("pages released twice", "every_page_released_is_free"),
        ("same array remembered", "the_same_arrays_may_hold_other_tokens"),
        ("slots past a machine word", "every_slot_of_many_is_right"),
        ("slots past a byte", "every_slot_of_many_is_right"),
        ("pages past a byte", "every_page_of_many_is_right"),
        ("small values flushed", "every_magnitude_is_right"),
        ("window filled by a decode", "every_small_window_is_right"),
        ("fork of an empty slot", "every_kind_of_fork_is_right"),
        ("fork onto itself", "every_kind_of_fork_is_right"),
        ("fork shares a page", "every_kind_of_fork_is_right"),
        ("copied for one token", "every_kind_of_fork_is_right"),
        ("neighbouring cells", "a_released_slot_takes_max_length"),
        ("window of shared tokens", "every_kind_of_fork_is_right"),
        ("window of a shared page", "every_kind_of_fork_is_right"),
        ("cut one too long", "every_kind_of_cut_is_right"),
        ("cut by what the first layer holds", "every_kind_of_cut_is_right"),
        ("cut to the least of the layers", "a_cut_slot_goes_on_from_there"),
        ("window of pages", "every_window_beside_others_is_right"),
        ("window of codes", "every_window_beside_others_is_right"),
        ("shared heads of a page", "every_kind_of_shared_heads_is_right"),
        ("shared heads of a window", "every_kind_of_shared_heads_is_right"),
        ("window of packed heads", "every_kind_of_shared_heads_is_right"),
        ("int8 scale with a floor", "any_program_at_int8_stays_close"),
        ("int8 scale of the first token", "any_program_at_int8_stays_close"),
        ("int8 step of equal numbers", "int8_stays_close"),
        ("int4 step of equal numbers", "int4_stays_close"),
        ("int4 scale with something added", "any_program_at_int4_stays_close"),
    ],
)
def test_a_plan_of_calls_sees_its_fault_by_every_seed_in_brief(mutant, probe, seed):
    """These are in rewards, which must not be a matter of luck."""
    found = run(CODE.probes[probe].in_brief(), LocalAnswer(CODE.import_source(FAULTY[mutant])), seed, shrink=False)
    assert not found.passed and found.obstacle is None


@pytest.mark.parametrize("page", [1, 2, 3])
def test_a_cache_with_small_pages_is_right(page):
    answer = LocalAnswer(CODE.import_source(None))
    answer.capabilities = {"paged": {"page_size": page}, "fork": True}
    for name in ("paged", "fork"):
        for probe in CODE.probes_of(CODE.challenge.criterion(name)):
            if not probe.measures_cost:
                found = run(replace(probe, drawn=None) if probe.cases else probe.in_brief(), answer, 1, shrink=False)
                assert found.passed, (probe.name, found.detail)
