"""One sweep over the nodes that keeps which of them are right; a mask of links; a decoder that keeps the whole text.

What hangs on an end of the sequence is never right.
"""

import numpy as np


def build_tree_mask(prompt_len, parents):
    count = len(parents)
    if prompt_len < 1 or not all(-1 <= parent < node for node, parent in enumerate(parents)):
        raise ValueError("parents come first")
    links = np.eye(count, dtype=np.int64)
    for node, parent in enumerate(parents):
        if parent >= 0:
            links[node] |= links[parent]
    mask = np.tril(np.ones((prompt_len + count, prompt_len + count)))
    mask[prompt_len:, prompt_len:] = links
    return np.where(mask > 0, 0.0, -1e30)


def verify_and_accept(model, prompt, tree_tokens, parents, *, eos_token_id=None):
    if len(tree_tokens) != len(parents):
        raise ValueError("sizes differ")
    first = len(prompt)
    mask = build_tree_mask(first, parents)
    levels = (mask == 0).sum(axis=1) - 1
    logits = model(tuple(prompt) + tuple(tree_tokens), mask, levels)
    tops = np.argmax(logits, axis=-1)
    right, last, accepted = {-1: []}, -1, []
    for node, (token, parent) in enumerate(zip(tree_tokens, parents, strict=True)):
        if parent in right and token == tops[first + parent]:
            path = [*right[parent], token]
            if len(path) > len(accepted):
                last, accepted = node, path
            if token != eos_token_id:
                right[node] = path
    return tuple(accepted), None if last not in right else int(tops[first + last])


def generate(model, draft, prompt, max_new_tokens, *, eos_token_id=None):
    text, then = list(prompt), -1
    while len(text) < len(prompt) + max_new_tokens and then not in (None, eos_token_id):
        tokens, parents = draft(list(text))
        accepted, then = verify_and_accept(model, text, tokens, parents, eos_token_id=eos_token_id)
        text += accepted if then is None else [*accepted, then]
    return text[len(prompt) :]
