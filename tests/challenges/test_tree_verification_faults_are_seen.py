"""A faulty verification is charged where its fault is, and drawn trees are what they say."""

import pytest
from any_design import designs, failing, judged

from harness.model import Evidence, Obstacle, Outcome
from harness.mutation.checks.check import open_in_sandbox
from harness.probing import Draw, Mutant, PropertyMutant
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.evidence.criteria import probe_criterion
from harness.probing.probe import run
from tests.checkout import answer_of, code_of, mutated

CODE = code_of("tree_verification")
TREES, DRAWING, SCRIPTED = CODE.module("trees"), CODE.module("drawing"), CODE.module("scripted")
WITHOUT_ITS_MASK = CODE.source().replace(
    "    mask = build_tree_mask(prompt_len, parents)\n    positions",
    "    mask = np.tri(prompt_len + len(tree_tokens), dtype=bool)\n    positions",
)


@pytest.mark.parametrize("shape", TREES.SHAPES)
def test_a_drawn_tree_is_what_its_draft_says(shape: str) -> None:
    """Right: all of a longest path is greedy decoding. Wrong: no root is. And no two siblings hold the same token."""
    parents = TREES.SHAPES[shape]
    for draft, holds in (("right", TREES.depth_of(parents)), ("wrong", 0)):
        tree = DRAWING.draw_tree(Draw(3), parents, prompt=3, vocab=13, draft=draft, ordered=True)
        assert tree.longest == holds
        assert len(set(zip(tree.parents, tree.tokens, strict=True))) == len(parents)


@pytest.mark.parametrize("shape", TREES.SHAPES)
@pytest.mark.parametrize(("next_token", "token"), [("lowest", 0), ("highest", 12)])
def test_a_path_that_ends_early_is_followed_by_the_token_named(shape: str, next_token: str, token: int) -> None:
    parents = TREES.SHAPES[shape]
    given = {"prompt": 3, "vocab": 13, "draft": "right", "ordered": True, "next_token": next_token}
    tree = DRAWING.ended_early(Draw(3), parents, **given)
    depth = TREES.depths(parents)
    above = [level for node, level in enumerate(depth) if level < max(depth) and node not in parents]
    assert tree.wanted[-1] == token
    assert tree.longest in (above or [max(depth, default=0)])


@pytest.mark.parametrize("order", SCRIPTED.ORDERS)
def test_a_draft_lists_the_same_branches_in_its_order(order: str) -> None:
    def paths(order: str) -> tuple[list[tuple[int, ...]], list[int]]:
        tokens, parents = SCRIPTED.drafting(5, 11, True, 0, order, 4)([1, 2])
        assert all(-1 <= parent < node for node, parent in enumerate(parents))
        lines = [tuple(tokens[one] for one in TREES.path_to(parents, node)) for node in range(len(tokens))]
        return sorted(lines), TREES.depths(parents)

    depth = paths(order)[1]
    assert paths(order)[0] == paths(SCRIPTED.ORDERS[1])[0]
    assert (depth == sorted(depth)) == (order == SCRIPTED.ORDERS[1])
    assert max(depth) == 4


PADDED = [mutant for mutant in CODE.mutants if mutant.name.startswith("paths filled up")]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("id", ["golden_rule", "any_tree"])
@pytest.mark.parametrize("mutant", PADDED, ids=lambda mutant: mutant.name)
def test_a_path_that_is_filled_up_is_seen_by_every_seed_in_brief(mutant: Mutant, id: str, seed: int) -> None:
    answer = answer_of(CODE.source(mutant))
    evidence = probe_criterion(CODE, CODE.challenge.criterion(id), answer, seed, explain=False, brief=True)
    assert evidence.outcome is Outcome.FAILED


def test_a_refused_draft_is_shown_with_its_parents() -> None:
    answer = answer_of(mutated(CODE, "parents of a cut draft"))
    evidence = probe_criterion(CODE, CODE.challenge.criterion("generation"), answer, 1, explain=False, brief=True)
    assert evidence.title == "`generate` raises ValueError"
    assert "draft: branches depth first to depth 4, after the prompt tokens [" in evidence.detail


@pytest.mark.parametrize("seed", [0, 3])
def test_a_fault_that_emits_the_same_wrong_token_by_chance_is_not_named(seed: int) -> None:
    """The answer's mask is right, and not what it verifies with; here a fault of positions emits the same."""
    evidence = probe_criterion(CODE, CODE.challenge.criterion("any_tree"), without_its_mask(), seed=seed)
    assert evidence.outcome is Outcome.FAILED
    assert evidence.diagnosis is None


def test_a_wrong_mask_is_not_charged_to_positions_logits_or_subtrees() -> None:
    evidence = judged(CODE, WITHOUT_ITS_MASK)
    assert failing(evidence) - {"argument_errors"} == {"golden_rule"}  # its own mask refused wrong parents
    assert all(evidence[id].outcome is Outcome.PASSED for id in ("positions", "parent_logits", "subtree_invalidation"))


def test_wrong_positions_name_the_line_that_passes_them() -> None:
    mutant = next(mutant for mutant in CODE.property_mutants if mutant.criterion == "position_arguments")
    with open_in_sandbox(CODE, mutant.wrapped(CODE.source())) as answer:
        evidence = probe_criterion(CODE, CODE.challenge.criterion("position_arguments"), answer, seed=1)
    assert evidence.outcome is Outcome.FAILED
    assert evidence.locations, evidence


KEPT = "masks kept by sizes"
"""Shows in a process of its own alone, which an answer in this one does not get."""
BESIDE = {"position_arguments": {"one_call"}}
"""What a fault breaks as well: only a second call can bring what the wrong one does not."""


@pytest.mark.parametrize("design", designs(CODE))
@pytest.mark.parametrize(
    "mutant", [mutant for mutant in CODE.property_mutants if mutant.name != KEPT], ids=lambda mutant: mutant.criterion
)
def test_a_property_broken_around_any_design_fails_its_criterion_alone(mutant: PropertyMutant, design: str) -> None:
    evidence = judged(CODE, mutant.wrapped(designs(CODE)[design]))
    assert failing(evidence) == {mutant.criterion} | BESIDE.get(mutant.criterion, set())


@pytest.mark.parametrize(
    ("name", "charged", "hidden", "held"),
    [
        ("a wrong sibling ends it", {"golden_rule", "longest_path"}, {"parent_logits", "generation"}, {"one_call"}),
        ("logits by slot", {"parent_logits", "longest_path"},
         {"golden_rule", "positions", "generation", "subtree_invalidation"}, {"one_call"}),
        ("parent seen alone", {"mask"}, {"golden_rule", "generation"}, {"plain_chain", "positions", "parent_logits"}),
        ("positions by slot", {"positions"}, {"generation"}, {"golden_rule", "parent_logits", "one_call"}),
        ("paths filled up with token 0", {"golden_rule"}, {"any_tree"},
         {"plain_chain", "parent_logits", "subtree_invalidation", "longest_path"}),
        ("parents of a cut draft", {"generation"}, set(), {"golden_rule", "any_tree", "draft_used"}),
        ("no tree refused", {"empty_tree"}, set(), {"golden_rule", "generation", "any_tree", "one_call"}),
    ],
)  # fmt: skip
def test_a_fault_is_charged_where_it_is_judged(name: str, charged: set[str], hidden: set[str], held: set[str]) -> None:
    evidence = judged(CODE, CODE.source(next(mutant for mutant in CODE.mutants if mutant.name == name)))
    assert failing(evidence) == charged
    assert {id for id in hidden if evidence[id].outcome is Outcome.NOT_RUN and evidence[id].rests_on} == hidden
    assert {id for id in held if evidence[id].outcome is Outcome.PASSED} == held


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["a wrong sibling ends it", "logits by slot"])
def test_another_fault_of_trees_leaves_close_and_equal_logits_to_the_chain(name: str, seed: int) -> None:
    """Whether such a fault shows in a tree is a matter of the draw."""
    mutant = next(mutant for mutant in CODE.mutants if mutant.name == name)
    for id in ("close_logits", "equal_logits"):
        evidence = probe_criterion(
            CODE, CODE.challenge.criterion(id), LocalAnswer(CODE.import_source(mutant)), seed=seed
        )
        assert evidence.outcome is Outcome.PASSED


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["probabilities compared", "log-probabilities compared"])
def test_logits_that_differ_by_less_than_their_probabilities_can_are_told_apart(name: str, seed: int) -> None:
    """Equal logits do not show that an answer looks at probabilities."""
    answer = answer_of(mutated(CODE, name))
    close, equal = (
        probe_criterion(CODE, CODE.challenge.criterion(id), answer, seed, explain=False, brief=True)
        for id in ("close_logits", "equal_logits")
    )
    assert (close.outcome, close.title) == (Outcome.FAILED, "the smaller of two close logits is taken")
    assert equal.outcome is Outcome.PASSED


CUT = {"wrong": "    return accepted, wanted\n", "ended": "            return accepted, None\n"}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("where", CUT)
def test_a_list_that_is_cut_in_place_is_seen_by_every_seed(where: str, seed: int) -> None:
    """Behind the last right node, or behind the end of the sequence alone."""
    line = CUT[where]
    cut = line[: len(line) - len(line.lstrip())] + "del tree_tokens[len(accepted) :]\n"
    answer = answer_of(CODE.source().replace(line, cut + line))
    answer.capabilities = {"eos": True}
    evidence = probe_criterion(CODE, CODE.challenge.criterion("ownership"), answer, seed, explain=False)
    assert (evidence.outcome, evidence.title) == (Outcome.FAILED, "a call changes tree_tokens")


@pytest.mark.parametrize("seed", range(4))
def test_tokens_that_are_compared_by_identity_are_seen_by_every_seed(seed: int) -> None:
    answer = answer_of(CODE.source().replace("tree_tokens[child] == wanted", "tree_tokens[child] is wanted"))
    evidence = probe_criterion(CODE, CODE.challenge.criterion("longest_path"), answer, seed, explain=False)
    assert (evidence.outcome, evidence.title) == (Outcome.FAILED, "less is emitted than could be")


ASKED = "        tree_tokens, parents = draft(context)\n"
PREFILL = (ASKED, "        tree_tokens, parents = draft(context) if generated else ([], [])\n")
"""Passes over the prompt alone before it asks the draft."""
UNUSED = (ASKED, ASKED + "        tree_tokens, parents = [], []\n")


@pytest.mark.parametrize(
    ("change", "rate", "named"),
    [(PREFILL, 3.0, None), (UNUSED, 1.0, "draft unused"), (("", ""), 4.0, None)],
    ids=["a pass too many", "draft unused", "as many as needed"],
)
def test_tokens_for_each_call_are_those_of_chains_of_four(
    change: tuple[str, str], rate: float, named: str | None
) -> None:
    """Whether or not there are enough; and few calls are not taken for those of a draft that is not used."""
    answer = answer_of(CODE.source().replace(*change))
    evidence = probe_criterion(CODE, CODE.challenge.criterion("draft_used"), answer, seed=5)
    assert evidence.outcome is (Outcome.PASSED if rate == 4.0 else Outcome.FAILED)
    assert evidence.measured["tokens_per_call"] == rate
    assert (evidence.diagnosis.mutant if evidence.diagnosis else None) == named


@pytest.mark.parametrize(
    ("stops", "place"),
    [("eos_token_id in prompt", "in the prompt"), ("prompt[-1] == eos_token_id", "as the last token of a prompt")],
)
@pytest.mark.parametrize("seed", range(4))
def test_an_end_of_the_sequence_in_the_prompt_is_told_from_any_other(stops: str, place: str, seed: int) -> None:
    source = CODE.source().replace("< max_new_tokens:", f"< max_new_tokens and not ({stops}):")
    answer = answer_of(source)
    evidence = probe_criterion(CODE, CODE.challenge.criterion("eos"), answer, seed=seed)
    assert evidence.title == f"an end of the sequence {place} changes what is generated"


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "mutant", [mutant for mutant in CODE.mutants if mutant.criterion == "eos"], ids=lambda m: m.name
)
def test_a_wrong_end_of_the_sequence_is_seen_by_every_seed_in_brief(mutant: Mutant, seed: int) -> None:
    """It is in rewards, which must not be a matter of luck. Calls after the end are no wrong value."""
    evidence = eos(CODE.source(mutant), seed)
    assert evidence.outcome is Outcome.FAILED
    assert evidence.wrong_option == (not mutant.name.endswith("cut at the end"))


def test_calls_after_an_end_that_is_zero_alone_name_that_token() -> None:
    evidence = eos(mutated(CODE, "zero cut at the end"), 5)
    assert evidence.outcome is Outcome.FAILED and not evidence.wrong_option
    assert "where the second token is EOS, which is 0" in evidence.detail


def test_an_end_of_the_sequence_that_is_missing_gates_nothing() -> None:
    evidence = eos(CODE.source(next(right for right in CODE.variants if right.name == "no end of the sequence")), 5)
    assert (evidence.outcome, evidence.obstacle, evidence.wrong_option) == (Outcome.FAILED, Obstacle.CALL, False)


def test_an_end_of_the_sequence_needs_no_generate() -> None:
    source = CODE.source().replace("def generate(", "def unnamed(")
    assert eos(source, 5).outcome is Outcome.PASSED


def eos(source: str, seed: int) -> Evidence:
    answer = answer_of(source)
    return probe_criterion(CODE, CODE.challenge.criterion("eos"), answer, seed, explain=False, brief=True)


def without_its_mask() -> LocalAnswer:
    """The reference, which builds the right mask and verifies with another one."""
    return answer_of(WITHOUT_ITS_MASK)


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
