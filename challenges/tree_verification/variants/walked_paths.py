"""Walks the path of every node: an additive mask, positions left to the model, all paths compared at the end.

The longest is cut behind the end of the sequence.
"""

import numpy as np


def ancestors(parents, node):
    path = []
    while node != -1:
        path.insert(0, node)
        node = parents[node]
    return path


def checked(prompt_len, parents):
    if prompt_len <= 0 or any(parent < -1 or parent >= node for node, parent in enumerate(parents)):
        raise ValueError("no such tree")


def build_tree_mask(prompt_len, parents):
    checked(prompt_len, parents)
    size = prompt_len + len(parents)
    mask = np.full((size, size), -np.inf, dtype=np.float32)
    for row in range(prompt_len):
        mask[row, : row + 1] = 0
    for node in range(len(parents)):
        mask[prompt_len + node, :prompt_len] = 0
        mask[prompt_len + node, [prompt_len + one for one in ancestors(parents, node)]] = 0
    return mask


def verify_and_accept(model, prompt, tree_tokens, parents, eos_token_id=None):
    if len(parents) - len(tree_tokens):
        raise ValueError("one parent for each token")
    mask = build_tree_mask(len(prompt), parents)
    logits = model([*prompt, *tree_tokens], mask, None)
    best = []
    for node in range(len(parents)):
        path = ancestors(parents, node)
        rows = [len(prompt) - 1, *(len(prompt) + one for one in path)]
        right = all(tree_tokens[one] == np.argmax(logits[row]) for one, row in zip(path, rows, strict=False))
        if right and len(path) > len(best):
            best = path
    last = len(prompt) + best[-1] if best else len(prompt) - 1
    accepted = [tree_tokens[one] for one in best]
    if eos_token_id in accepted:
        return accepted[: accepted.index(eos_token_id) + 1], None
    return accepted, np.argmax(logits[last])
