"""Nodes that name the one before them; unfinished and finished ones in two lists, merged by a heap."""

import heapq


class Node:
    """One token after another node."""

    def __init__(self, before, token, total, length):
        self.before, self.token, self.total, self.length = before, token, total, length

    def sequence(self):
        found, node = [], self
        while node.before is not None:
            found.append(node.token)
            node = node.before
        return found[::-1]


def batched_beam_search(model, prompts, beam_width, max_new_tokens, alpha, eos_token_id):
    if beam_width < 1 or max_new_tokens < 1:
        raise ValueError("sizes start at 1")
    if eos_token_id < 0 or eos_token_id >= model.vocab_size:
        raise ValueError("no such token")
    if [] in [list(prompt) for prompt in prompts]:
        raise ValueError("nothing to continue")
    return [one(model, prompt, beam_width, max_new_tokens, alpha, eos_token_id) for prompt in prompts]


def one(model, prompt, width, steps, alpha, eos):
    def rank(node):
        return -node.total / node.length**alpha

    live, ended = [Node(None, None, 0.0, 0)], []
    while live and steps:
        steps -= 1
        grown = []
        for node in live:
            logprobs = model((*prompt, *node.sequence()))
            likely = heapq.nlargest(2 * width, range(model.vocab_size), key=lambda token: logprobs[token])
            grown += [Node(node, token, node.total + logprobs[token], node.length + 1) for token in likely]
        best = heapq.nsmallest(width, [*ended, *grown], key=rank)
        ended = [node for node in best if node.token == eos]
        live = [node for node in best if node.token != eos]
    return [(node.sequence(), -rank(node)) for node in sorted(ended + live, key=rank)]
