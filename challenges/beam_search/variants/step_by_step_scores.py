"""Sums every beam anew from the model's answers, and asks about finished beams, too, to throw the answers away."""

import math


def batched_beam_search(model, prompts, beam_width, max_new_tokens, alpha, eos_token_id):
    for size in (beam_width, max_new_tokens, *map(len, prompts)):
        if size < 1:
            raise ValueError(f"{size} is below 1")
    if not 0 <= eos_token_id < model.vocab_size:
        raise ValueError("EOS")
    found = []
    for prompt in prompts:
        beams = [([], [])]
        for _ in range(max_new_tokens):
            pool = []
            for tokens, terms in beams:
                logprobs = model(list(prompt) + tokens)
                if tokens[-1:] == [eos_token_id]:
                    pool.append((tokens, terms))
                else:
                    pool += [([*tokens, token], [*terms, float(p)]) for token, p in enumerate(logprobs)]
            pool.sort(key=lambda beam: mean(*beam, alpha), reverse=True)
            beams = pool[:beam_width]
        found.append([(tokens, mean(tokens, terms, alpha)) for tokens, terms in beams])
    return tuple(found)


def mean(tokens, terms, alpha):
    return math.fsum(terms) / math.pow(len(tokens), alpha)
