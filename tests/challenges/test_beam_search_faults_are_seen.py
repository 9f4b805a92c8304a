"""A faulty search is charged where its fault is, and drawn searches are what they say."""

import pytest
from any_design import SEED, designs, failing, judged

from harness.model import Outcome
from harness.probing import Draw, PropertyMutant
from harness.probing.evidence.charging import charge_once
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.evidence.root_causes import judge_without_conditions
from tests.checkout import answer_of, code_of, mutated, probed

CODE = code_of("beam_search")
SEARCHES = CODE.module("searches")
OPTIONS = tuple(c.id for c in CODE.challenge.criteria if c.capability)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("ends", SEARCHES.EOS)
def test_no_two_candidates_of_a_drawn_search_are_too_near(alpha: float, ends: str) -> None:
    """Nearer than 1e-6 the order would be a matter of rounding."""
    search = SEARCHES.drawn(Draw(5), vocab=9, lengths=[1, 3], width=4, steps=5, alpha=alpha, ends=ends)
    assert all(one.gap > 1e-6 for one in search.expected)
    again = SEARCHES.Search(**SEARCHES.vars_of(search))
    assert again.expected == search.expected


@pytest.mark.parametrize(
    ("vocab", "width", "said"),
    [(1, 4, "EOS 0 (ends 1 of 1 right results)"), (2, 2, "EOS 0 (ends 1 of 2 right results)"),
     (9, 2, "EOS 0 (ends 0 of 2 right results)")],
)  # fmt: skip
def test_a_search_says_how_many_of_its_right_results_end_with_eos(vocab: int, width: int, said: str) -> None:
    """The only token of a vocabulary is taken however unlikely it was made, and so is one that K has room for."""
    search = SEARCHES.drawn(Draw(5), vocab=vocab, lengths=[2], width=width, steps=1, ends="never", eos=0)
    assert said in f"{search}"


HEAD = """
_search = batched_beam_search


class _Model:
    def __init__(self, model):
        self.model, self.vocab_size, self.seen = model, model.vocab_size, []

    def __call__(self, tokens):
        {asked}


def batched_beam_search(model, prompts, width, steps, alpha, eos):
    {called}
"""
PLAIN = "return self.model(tokens)"


@pytest.mark.parametrize("design", designs(CODE))
@pytest.mark.parametrize("mutant", CODE.property_mutants, ids=lambda mutant: mutant.criterion)
def test_a_property_broken_around_any_design_fails_its_criterion_alone(mutant: PropertyMutant, design: str) -> None:
    evidence = judged(CODE, mutant.wrapped(designs(CODE)[design]), *OPTIONS)
    assert failing(evidence) - {"any_search"} == {mutant.criterion}


@pytest.mark.parametrize(
    ("name", "charged", "hidden"),
    [("EOS for nothing", {"eos_score"}, {"finished_beams": "eos_score"}),
     ("EOS for nothing, set aside", {"eos_score", "finished_beams"}, {"no_idle_calls": "finished_beams"})],
)  # fmt: skip
def test_a_wrong_search_keeps_the_properties_that_it_has(name: str, charged: set[str], hidden: dict[str, str]) -> None:
    """What is wrong about EOS is charged once, and says nothing of prompts, arguments, arrays and calls."""
    mutant = next(mutant for mutant in CODE.mutants if mutant.name == name)
    evidence = judged(CODE, CODE.source(mutant))
    assert failing(evidence) == charged
    assert {id: evidence[id].rests_on for id in hidden} == hidden
    properties = {mutant.criterion for mutant in CODE.property_mutants} - set(hidden)
    assert all(
        evidence[id].outcome is Outcome.PASSED for id in (*properties, "plain_search", "every_width", "precision")
    )


@pytest.mark.parametrize(
    ("name", "criterion"),
    [("EOS for nothing, dropped", "finished_beams"), ("EOS for nothing, goes on", "no_idle_calls"),
     ("EOS for nothing, through probabilities", "tiny_probabilities")],
)  # fmt: skip
def test_a_wrong_score_of_eos_hides_no_fault_that_shows_without_it(name: str, criterion: str) -> None:
    """Where no beam takes EOS, where EOS is certain, and in the calls after the end of a search."""
    assert failing(judged(CODE, mutated(CODE, name))) == {"eos_score", criterion}


@pytest.mark.parametrize("seed", range(4))
def test_a_few_possible_tokens_of_many_are_asked_for_by_every_seed(seed: int) -> None:
    """Fewer than the 2 K that an answer may look for before it sorts them."""
    answer = answer_of(mutated(CODE, "impossible tokens before possible ones"))
    criterion = CODE.challenge.criterion("impossible_tokens")
    evidence = probe_criterion(CODE, criterion, answer, seed, explain=False, brief=True)
    assert (evidence.outcome, evidence.title) == (Outcome.FAILED, "there are too few results")


def test_scores_closer_than_single_precision_resolves_are_ranked_in_brief() -> None:
    answer = answer_of(mutated(CODE, "ranked in single precision"))
    for seed in range(3):
        found = probe_criterion(CODE, CODE.challenge.criterion("any_search"), answer, seed, explain=False, brief=True)
        assert found.outcome is Outcome.FAILED
        assert found.title == "the smaller of two close scores is ranked before the larger"


@pytest.mark.parametrize("name", ["ranked in single precision", "float32 sums"])
def test_single_precision_is_charged_where_it_shows(name: str) -> None:
    """In the scores themselves, or where two of them are ranked."""
    mutant = next(mutant for mutant in CODE.mutants if mutant.name == name)
    assert failing(judged(CODE, CODE.source(mutant))) == {mutant.criterion}


REFUSED = {
    "length_penalty": "alpha == 0",
    "every_width": "width == 1",
    "independent_prompts": "len(prompts) > 1",
    "small_vocabularies": "model.vocab_size < 2 * width",
}


@pytest.mark.parametrize("holds", ["prompt[-1:] == [eos]", "eos in prompt"])
def test_what_eos_in_a_prompt_breaks_is_charged_to_eos(holds: str) -> None:
    """Drawn prompts hold EOS by chance, and the only token of a vocabulary of one is EOS: no size is wrong."""
    called = f"return [\n        [([], 0.0)] if {holds} else _search(model, [prompt], width, steps, alpha, eos)[0]\n"
    called += "        for prompt in prompts\n    ]"
    answer = answer_of(CODE.source() + HEAD.format(asked=PLAIN, called=called))
    required = [c.id for c in CODE.challenge.criteria if c.probes and not c.capability]
    found = probed(CODE, answer, *required)
    evidence = charge_once(CODE, judge_without_conditions(CODE, found, answer))
    assert {e.criterion for e in evidence if e.faulty} == {"eos"}


def test_a_penalty_that_is_wrong_without_eos_is_told_apart_from_dropped_beams() -> None:
    """A search in which no beam takes EOS shows nothing of finished beams."""
    called = "return [\n        [(tokens, score * max(len(tokens), 1) ** alpha) for tokens, score in beams]\n"
    called += "        for beams in _search(model, prompts, width, steps, alpha, eos)\n    ]"
    evidence = judged(CODE, mutated(CODE, "finished dropped") + HEAD.format(asked=PLAIN, called=called))
    assert {"finished_beams", "length_penalty"} <= failing(evidence)


@pytest.mark.parametrize("criterion", REFUSED)
def test_what_a_search_does_not_serve_is_charged_to_one_criterion(criterion: str) -> None:
    """The others are judged on what it does serve, and none is said to fail."""
    called = f"if {REFUSED[criterion]}:\n        raise NotImplementedError\n    "
    called += "return _search(model, prompts, width, steps, alpha, eos)"
    answer = answer_of(CODE.source() + HEAD.format(asked=PLAIN, called=called))
    asked = [c for c in CODE.challenge.criteria if c.probes]
    found = [probe_criterion(CODE, c, answer, seed_of(SEED, c.id), explain=False, share=0.1) for c in asked]
    evidence = charge_once(CODE, judge_without_conditions(CODE, found, answer))
    assert failing({e.criterion: e for e in evidence}) == {criterion}


def test_dropped_beams_are_not_charged_to_eos_the_penalty_or_small_vocabularies() -> None:
    assert failing(judged(CODE, mutated(CODE, "finished dropped"))) == {"finished_beams"}


@pytest.mark.parametrize("name", ["prompts share sums", "prompts share ends"])
def test_what_goes_wrong_between_a_prompt_and_its_continuation_is_charged_to_their_independence(name: str) -> None:
    """By a call of two prompts; drawn searches that meet it by chance are judged with one prompt each."""
    answer = answer_of(mutated(CODE, name))
    found = probed(CODE, answer, "independent_prompts", "any_search", seed=0)
    assert all(e.outcome is Outcome.FAILED for e in found)
    charged, other = charge_once(CODE, judge_without_conditions(CODE, found, answer))
    assert (charged.outcome, charged.title) == (Outcome.FAILED, "a prompt depends on the others")
    assert (other.outcome, other.rests_on) == (Outcome.NOT_RUN, "independent_prompts")


def test_a_wrong_penalty_is_shown_by_few_beams_and_few_tokens() -> None:
    mutant = next(mutant for mutant in CODE.mutants if mutant.name == "given up by its score")
    answer = answer_of(CODE.source(mutant))
    criterion = CODE.challenge.criterion(mutant.criterion)
    evidence = probe_criterion(CODE, criterion, answer, seed_of(SEED, criterion.id))
    shown = [evidence.counterexample, *(one.counterexample for one in evidence.also)]
    assert any((one.case["width"], one.case["steps"]) == (2, 2) for one in shown if one)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("known", ["token is eos", "token == eos % 256"])
def test_an_eos_that_is_unknown_for_its_size_is_seen_by_every_seed_in_brief(known: str, seed: int) -> None:
    answer = answer_of(CODE.source().replace("token == eos", known))
    evidence = probe_criterion(CODE, CODE.challenge.criterion("any_search"), answer, seed, explain=False, brief=True)
    assert evidence.outcome is Outcome.FAILED
