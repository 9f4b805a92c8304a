"""What is emitted is always what greedy decoding gives: for right, wrong and misleading trees of many forms."""

import random

import numpy as np
import pytest
from hashed_model import HashedModel, greedy
from token_tree import TokenTree
from tree_verification import build_tree_mask, generate, verify_and_accept

PROMPT = [3, 1, 4]
VOCAB = 10


@pytest.fixture
def model():
    return HashedModel(VOCAB, seed=7)


def other(*tokens):
    return next(token for token in range(VOCAB) if token not in tokens)


def after(model, *tokens):
    return greedy(model, [*PROMPT, *tokens], 1)[0]


def test_the_mask_of_a_small_tree_is_this_one():
    wanted = """
        1 0 0 0 0 0
        1 1 0 0 0 0
        1 1 1 0 0 0
        1 1 0 1 0 0
        1 1 1 0 1 0
        1 1 0 1 0 1
    """
    rows = [[int(word) for word in line.split()] for line in wanted.split("\n") if line.strip()]
    assert build_tree_mask(2, [-1, -1, 0, 1]).astype(int).tolist() == rows


def test_positions_go_by_depth():
    assert TokenTree(3, [-1, -1, 0, 2, 1]).positions() == [0, 1, 2, 3, 3, 4, 5, 4]


def test_the_mask_of_a_chain_is_causal():
    assert np.array_equal(build_tree_mask(3, [-1, 0, 1]), np.tri(6, dtype=bool))


def test_a_right_chain_is_accepted_whole(model):
    right = greedy(model, PROMPT, 5)
    assert verify_and_accept(model, PROMPT, right[:4], [-1, 0, 1, 2]) == (right[:4], right[4])


def test_a_wrong_root_is_replaced(model):
    first = greedy(model, PROMPT, 1)[0]
    assert verify_and_accept(model, PROMPT, [other(first)], [-1]) == ([], first)


def test_an_empty_tree_gives_the_next_token(model):
    assert verify_and_accept(model, PROMPT, [], []) == ([], greedy(model, PROMPT, 1)[0])


def test_a_chain_that_goes_wrong_is_cut_there(model):
    a, b, c = greedy(model, PROMPT, 3)
    assert verify_and_accept(model, PROMPT, [a, b, other(c), 0], [-1, 0, 1, 2]) == ([a, b], c)


def test_wrong_siblings_emit_nothing(model):
    """They stand before the right node, and hold what the model takes one token later."""
    a, b, c = greedy(model, PROMPT, 3)
    wrong = b if b != a else other(a)
    tree = [wrong, a, other(b, wrong), b]
    assert verify_and_accept(model, PROMPT, tree, [-1, -1, 1, 1]) == ([a, b], c)


def test_children_need_not_lie_beside_their_parent(model):
    a, b, c, d = greedy(model, PROMPT, 4)
    tree = [other(a), a, 0, b, 0, c]
    assert verify_and_accept(model, PROMPT, tree, [-1, -1, 0, 1, 2, 3]) == ([a, b, c], d)


def test_a_child_of_a_rejected_node_is_rejected(model):
    """Though it holds what the model takes after its parent, or what greedy decoding takes so deep."""
    a, b = greedy(model, PROMPT, 2)
    wrong = other(a, b)
    for child in (after(model, wrong), b, a):
        assert verify_and_accept(model, PROMPT, [wrong, child], [-1, 0]) == ([], a)
        assert verify_and_accept(model, PROMPT, [wrong, child, a], [-1, 0, -1]) == ([a], b)
    deeper = after(model, wrong)
    tree = [wrong, deeper, after(model, wrong, deeper)]
    assert verify_and_accept(model, PROMPT, tree, [-1, 0, 1]) == ([], a)


@pytest.mark.parametrize("seed", range(40))
def test_any_tree_emits_a_prefix_of_greedy_decoding(seed):
    rng = random.Random(seed)
    model = HashedModel(VOCAB, seed)
    parents = [rng.randint(-1, node - 1) for node in range(rng.randint(1, 9))]
    tokens, paths = [], []
    for parent in parents:
        before = paths[parent] if parent >= 0 else []
        token = after(model, *before) if rng.random() < 0.6 else rng.randrange(VOCAB)
        siblings = [tokens[node] for node in range(len(tokens)) if parents[node] == parent]
        token = other(*siblings) if token in siblings else token
        tokens.append(token)
        paths.append([*before, token])
    accepted, choice = verify_and_accept(model, PROMPT, tokens, parents)
    right = greedy(model, PROMPT, len(accepted) + 1)
    assert [*accepted, choice] == right
    assert len(accepted) == max((len(path) for path in paths if path == greedy(model, PROMPT, len(path))), default=0)


def test_a_verification_takes_one_pass(model):
    verify_and_accept(model, PROMPT, [1, 2, 3], [-1, 0, 0])
    assert model.calls == 1


def test_arguments_are_left_alone(model):
    prompt, tokens, parents = list(PROMPT), greedy(model, PROMPT, 3), [-1, 0, 1]
    before = [list(prompt), list(tokens), list(parents)]
    verify_and_accept(model, prompt, tokens, parents)
    assert [prompt, tokens, parents] == before


@pytest.mark.parametrize("kind", ["right", "wrong", "none", "forked"])
@pytest.mark.parametrize("count", [1, 6, 7])
def test_decoding_with_a_draft_is_greedy_decoding(model, kind, count):
    def draft(text):
        right = greedy(model, text, 3)
        return {
            "right": (right, [-1, 0, 1]),
            "wrong": ([other(right[0])], [-1]),
            "none": ([], []),
            "forked": ([other(right[0]), right[0], right[1]], [-1, -1, 1]),
        }[kind]

    assert generate(model, draft, PROMPT, count) == greedy(model, PROMPT, count)


def ended(tokens, eos):
    return tokens[: tokens.index(eos) + 1] if eos in tokens else tokens


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_accepted_behind_the_end_of_the_sequence(seed):
    model = HashedModel(VOCAB, seed)
    right = greedy(model, PROMPT, 5)
    wrong = other(right[0])
    for eos in range(VOCAB):
        accepted, choice = verify_and_accept(model, PROMPT, [wrong, *right[:4]], [-1, -1, 1, 2, 3], eos_token_id=eos)
        assert [*accepted, *([] if choice is None else [choice])] == ended(right, eos)
        assert (choice is None) == (eos in right[:4])


@pytest.mark.parametrize("seed", range(6))
def test_generation_stops_with_the_end_of_the_sequence(seed):
    model = HashedModel(VOCAB, seed)
    right = greedy(model, PROMPT, 7)
    for eos in range(VOCAB):
        for draft in (lambda text: (greedy(model, text, 3), [-1, 0, 1]), lambda text: ([], [])):
            assert generate(model, draft, PROMPT, 7, eos_token_id=eos) == ended(right, eos)


def test_a_right_draft_saves_passes(model):
    right = greedy(model, PROMPT, 12)
    model.calls = 0
    generate(model, lambda text: (right[len(text) - 3 :][:3], [-1, 0, 1][: 15 - len(text)]), PROMPT, 12)
    assert model.calls == 3


@pytest.mark.parametrize("parents", [[0], [-2], [-1, 1], [-1, 2, 0]])
def test_wrong_parents_are_refused(model, parents):
    with pytest.raises(ValueError):
        build_tree_mask(2, parents)
    with pytest.raises(ValueError):
        verify_and_accept(model, PROMPT, [0] * len(parents), parents)


def test_wrong_sizes_are_refused(model):
    for prompt, tokens, parents in (([], [1], [-1]), (PROMPT, [1, 2], [-1]), (PROMPT, [1], [-1, 0])):
        with pytest.raises(ValueError):
            verify_and_accept(model, prompt, tokens, parents)
    with pytest.raises(ValueError):
        build_tree_mask(0, [])
