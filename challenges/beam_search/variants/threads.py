"""A thread for every prompt; the model's answers kept by sequence, log-probabilities as lists."""

from concurrent.futures import ThreadPoolExecutor


def batched_beam_search(model, prompts, beam_width, max_new_tokens, alpha, eos_token_id):
    wrong = beam_width <= 0 or max_new_tokens <= 0 or any(not prompt for prompt in prompts)
    if wrong or not (0 <= eos_token_id <= model.vocab_size - 1):
        raise ValueError("wrong arguments")

    def search(prompt):
        known = {}
        beams = {(): 0.0}
        for _ in range(max_new_tokens):
            pool = {}
            for tokens, total in beams.items():
                if tokens and tokens[-1] == eos_token_id:
                    pool[tokens] = total
                    continue
                if tokens not in known:
                    known[tokens] = [float(value) for value in model(list(prompt) + list(tokens))]
                for token, logprob in enumerate(known[tokens]):
                    pool[(*tokens, token)] = total + logprob
            best = sorted(pool, key=lambda tokens: -pool[tokens] / len(tokens) ** alpha)[:beam_width]
            beams = {tokens: pool[tokens] for tokens in best}
        return [[list(tokens), total / len(tokens) ** alpha] for tokens, total in beams.items()]

    with ThreadPoolExecutor(4) as threads:
        return list(threads.map(search, prompts))
