"""All prompts step by step together; tokens in one array a prompt, scores in another, best by argpartition."""

import numpy as np


def batched_beam_search(model, prompts, beam_width, max_new_tokens, alpha, eos_token_id):
    if min(beam_width, max_new_tokens) < 1 or not all(map(len, prompts)):
        raise ValueError("a size below 1")
    if eos_token_id not in range(model.vocab_size):
        raise ValueError("EOS is no token")
    states = [State(prompt, beam_width) for prompt in prompts]
    for step in range(1, max_new_tokens + 1):
        for state in states:
            if not state.done.all():
                state.advance(model, step, alpha, eos_token_id)
    return [state.results(alpha) for state in states]


class State:
    """The beams of one prompt, in parallel arrays."""

    def __init__(self, prompt, width):
        self.prompt, self.width = np.array(prompt), width
        self.tokens = np.empty((1, 0), dtype=np.int64)
        self.lengths = np.zeros(1, dtype=np.int64)
        self.logprobs = np.zeros(1)
        self.done = np.zeros(1, dtype=bool)

    def advance(self, model, step, alpha, eos):
        open_ = np.flatnonzero(~self.done)
        asked = [np.concatenate([self.prompt, self.tokens[row, : self.lengths[row]]]) for row in open_]
        totals = self.logprobs[open_, None] + np.stack([model(sequence) for sequence in asked])
        rows, new = np.divmod(np.arange(totals.size), totals.shape[1])
        kept = np.flatnonzero(self.done)
        parents = np.concatenate([kept, open_[rows]])
        added = np.concatenate([np.full(len(kept), -1), new])
        logprobs = np.concatenate([self.logprobs[kept], totals.ravel()])
        lengths = np.concatenate([self.lengths[kept], np.full(totals.size, step)])
        scores = logprobs / lengths.astype(float) ** alpha
        best = np.argpartition(-scores, min(self.width, len(scores)) - 1)[: self.width]
        best = best[np.argsort(-scores[best])]
        column = np.where(added[best] < 0, 0, added[best])[:, None]
        self.tokens = np.concatenate([self.tokens[parents[best]], column], axis=1)
        self.done = (added[best] == eos) | (added[best] < 0)
        self.lengths, self.logprobs = lengths[best], logprobs[best]

    def results(self, alpha):
        scores = self.logprobs / self.lengths.astype(float) ** alpha
        return [(self.tokens[n, : self.lengths[n]].tolist(), scores[n]) for n in range(len(scores))]
