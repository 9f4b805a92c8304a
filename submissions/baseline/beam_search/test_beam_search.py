"""The search finds what an exhaustive one finds, and does on small tables what can be worked out by hand."""

import itertools
import math

import numpy as np
import pytest
from beam_search import batched_beam_search
from tables import SeededModel, TableModel

EOS = 2
ENDS = TableModel(3, {(0,): [0.5, 0.1, 0.4], (0, 0): [0.4, 0.3, 0.3], (0, 0, 0): [0.6, 0.3, 0.1]})


def one(model, prompt, width, steps, alpha=0.0, eos=EOS):
    return batched_beam_search(model, [prompt], width, steps, alpha, eos)[0]


def exhaustive(model, prompt, width, steps, alpha, eos):
    """Every sequence that ends, or has all its tokens, ranked: what a search as wide as all of them must find."""
    found = []
    for length in range(1, steps + 1):
        for tokens in itertools.product(range(model.vocab_size), repeat=length):
            whole = tokens[-1] == eos or length == steps
            if whole and eos not in tokens[:-1]:
                terms = [model([*prompt, *tokens[:n]])[token] for n, token in enumerate(tokens)]
                found.append((list(tokens), math.fsum(terms) / length**alpha))
    return sorted(found, key=lambda pair: -pair[1])[:width]


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("eos", [0, 2])
def test_a_wide_search_finds_what_an_exhaustive_one_finds(alpha, eos):
    model = SeededModel(3, seed=4)
    found, wanted = one(model, [1, 0], 40, 3, alpha, eos), exhaustive(model, [1, 0], 40, 3, alpha, eos)
    assert [tokens for tokens, _ in found] == [tokens for tokens, _ in wanted]
    assert [score for _, score in found] == pytest.approx([score for _, score in wanted], rel=1e-12)


def test_one_beam_is_greedy():
    model, tokens = SeededModel(8, seed=1), []
    for _ in range(6):
        tokens.append(int(model([3, *tokens]).argmax()))
    assert one(model, [3], 1, 6, eos=7)[0][0] == (tokens[: tokens.index(7) + 1] if 7 in tokens else tokens)


def test_an_impossible_token_is_never_taken():
    with np.errstate(divide="ignore"):
        model = TableModel(3, {(0,): [0.0, 1.0, 0.0], (0, 1): [0.25, 0.0, 0.75]})
        found = one(model, [0], 4, 2)
    assert [tokens for tokens, _ in found] == [[1, 2], [1, 0]]


def test_a_finished_beam_stays_and_wins():
    """EOS at once has probability 0.4; the best other sequence has 0.2 after two tokens and 0.12 after three."""
    found = one(ENDS, [0], 2, 3)
    assert found[0] == ([2], pytest.approx(math.log(0.4)))
    assert found[1] == ([0, 0, 0], pytest.approx(math.log(0.12)))


def test_a_finished_beam_is_pushed_out_by_better_ones():
    model = TableModel(3, {(0,): [0.9, 0.02, 0.08], (0, 0): [0.5, 0.4, 0.1]})
    assert [tokens for tokens, _ in one(model, [0], 2, 2)] == [[0, 0], [0, 1]]


def test_the_penalty_divides_by_generated_tokens_with_eos():
    for alpha in (0.6, 1.5):
        for tokens, score in one(ENDS, [0], 4, 3, alpha):
            terms = [ENDS([0, *tokens[:n]])[token] for n, token in enumerate(tokens)]
            assert score == pytest.approx(sum(terms) / len(tokens) ** alpha)


def test_the_penalty_changes_the_winner():
    model = TableModel(3, {(0,): [0.5, 0.05, 0.45], (0, 0): [0.05, 0.15, 0.8]})
    assert one(model, [0], 2, 2, 0.0)[0][0] == [2]
    assert one(model, [0], 2, 2, 1.5)[0][0] == [0, 2]


def test_the_length_of_the_prompt_does_not_count():
    table = {(0,): [0.5, 0.1, 0.4], (0, 0): [0.4, 0.3, 0.3]}
    longer = {(1, 1, 1, *tokens): row for tokens, row in table.items()}
    short, long = one(TableModel(3, table), [0], 3, 2, 1.5), one(TableModel(3, longer), [1, 1, 1, 0], 3, 2, 1.5)
    assert short == long


def test_prompts_give_together_what_they_give_alone():
    model, prompts = SeededModel(6, seed=9), [[1], [2, 3, 4, 5, 0], [5, 5], [1]]
    together = batched_beam_search(model, prompts, 3, 5, 0.6, 4)
    assert together == [one(model, prompt, 3, 5, 0.6, 4) for prompt in prompts]
    assert together[0] == together[3] != together[2]


def test_eos_in_a_prompt_ends_nothing():
    model = SeededModel(5, seed=2)
    assert all(tokens for tokens, _ in one(model, [2, 1, 2], 3, 4))
    assert one(model, [2, 1, 2], 1, 1)[0][0] == [int(model([2, 1, 2]).argmax())]


def test_token_0_can_be_eos():
    model = TableModel(3, {(1,): [0.7, 0.2, 0.1]})
    assert one(model, [1], 1, 4, eos=0) == [([0], pytest.approx(math.log(0.7)))]


def test_no_more_beams_come_back_than_exist():
    model = SeededModel(2, seed=3)
    assert len(one(model, [0], 8, 1, eos=1)) == 2
    assert len(one(model, [0], 8, 2, eos=1)) == 3  # [1], [0, 0], [0, 1]
    assert batched_beam_search(model, [], 2, 2, 0.0, 1) == []


def test_what_has_ended_costs_no_call():
    sure = TableModel(2, {(0,): [0.01, 0.99]})
    one(sure, [0], 1, 9, eos=1)
    assert sure.asked == [(0,)]
    model = SeededModel(9, seed=5)
    batched_beam_search(model, [[1], [2]], 4, 6, 0.6, 8)
    assert model.calls <= 2 * (1 + 4 * 5)


def test_prompts_are_left_alone():
    prompts = [[1, 2], [3]]
    batched_beam_search(SeededModel(5, seed=1), prompts, 2, 3, 0.6, 4)
    assert prompts == [[1, 2], [3]]


def test_scores_keep_double_precision():
    model = SeededModel(7, seed=8)
    tokens, score = one(model, [1], 2, 15, eos=6)[0]
    terms = [model([1, *tokens[:n]])[token] for n, token in enumerate(tokens)]
    assert score == pytest.approx(math.fsum(terms), rel=1e-14)


def test_the_models_of_these_tests_are_normalised_and_differ():
    """Log-probabilities that are not would make other mistakes look right."""
    table, seeded = TableModel(4, {(1,): [0.1, 0.2, 0.3, 0.4]}), SeededModel(4, seed=6)
    assert table([2, 2]).tolist() == pytest.approx([math.log(0.25)] * 4)
    assert table([1]).tolist() == pytest.approx([math.log(p) for p in (0.1, 0.2, 0.3, 0.4)])
    assert not table([1]).flags.writeable and table.asked == [(2, 2), (1,), (1,)]
    for tokens in ([1], [1, 1], [1, 2]):
        assert math.fsum(math.exp(logprob) for logprob in seeded(tokens)) == pytest.approx(1, rel=1e-12)
    assert seeded.calls == 3 and seeded([1, 2]).tolist() != seeded([2, 1]).tolist()
    assert max(abs(SeededModel(50, seed=6)([1]) + math.log(50))) > 2


@pytest.mark.parametrize(
    ("prompts", "width", "steps", "eos"),
    [([[1]], 0, 1, 0), ([[1]], 1, 0, 0), ([[1], []], 1, 1, 0), ([[1]], 1, 1, 3), ([[1]], 1, 1, -1)],
)
def test_wrong_arguments_are_refused(prompts, width, steps, eos):
    with pytest.raises(ValueError):
        batched_beam_search(SeededModel(3, seed=0), prompts, width, steps, 0.0, eos)
