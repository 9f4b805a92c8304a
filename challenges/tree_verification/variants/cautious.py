"""Stops at the first wrong sibling, and leaves the token after a path that is right to its end to the next pass."""

import numpy as np


def build_tree_mask(prompt_len, parents):
    if prompt_len < 1:
        raise ValueError("a prompt has at least one token")
    rows = [list(range(i + 1)) for i in range(prompt_len)]
    for i, parent in enumerate(parents):
        if parent < -1 or parent >= i:
            raise ValueError(f"parents[{i}]")
        rows.append([*rows[prompt_len + parent], prompt_len + i])
    mask = np.zeros((len(rows), len(rows)), dtype=bool)
    for i, seen in enumerate(rows):
        mask[i, seen] = True
    return mask


def verify_and_accept(model, prompt, tree_tokens, parents, **options):
    if len(tree_tokens) != len(parents):
        raise ValueError("lengths")
    mask = build_tree_mask(len(prompt), parents)
    logits = model(np.array([*prompt, *tree_tokens]), mask, mask.sum(axis=1) - 1)
    accepted, row = [], len(prompt) - 1
    while True:
        choice = int(logits[row].argmax())
        ended = accepted and accepted[-1] == options.get("eos_token_id")
        child = None if ended else next((i for i, parent in enumerate(parents) if len(prompt) + parent == row), None)
        if child is None:
            return (accepted, None) if accepted else ([], choice)
        if tree_tokens[child] != choice:
            return accepted, choice
        accepted.append(choice)
        row = len(prompt) + child
