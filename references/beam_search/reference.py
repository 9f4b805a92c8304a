"""Reference: beam search, one prompt after the other, in plain steps."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Model = Callable[[list[int]], Any]


class Beam(NamedTuple):
    """A hypothesis: what was generated, its log-probability, and whether it has taken EOS."""

    tokens: tuple[int, ...]
    logprob: float
    finished: bool


def batched_beam_search(
    model: Model, prompts: Sequence[Sequence[int]], beam_width: int, max_new_tokens: int, alpha: float,
    eos_token_id: int,
) -> list[list[tuple[list[int], float]]]:  # fmt: skip
    """The best continuations of each prompt, best first, with their penalised scores.

    Raises:
        ValueError: a size below 1, an empty prompt, an EOS outside the vocabulary.
    """
    check(model, prompts, beam_width, max_new_tokens, eos_token_id)
    results = []
    for prompt in prompts:
        beams = search(model, list(prompt), beam_width, max_new_tokens, alpha, eos_token_id)
        results.append([(list(beam.tokens), score(beam, alpha)) for beam in beams])
    return results


def search(model: Model, prompt: list[int], width: int, steps: int, alpha: float, eos: int) -> list[Beam]:
    """The beams of one prompt."""
    beams = [Beam((), 0.0, False)]
    for _ in range(steps):
        pool = [beam for beam in beams if beam.finished]
        unfinished = [beam for beam in beams if not beam.finished]
        for beam in unfinished:
            pool.extend(expand(model, prompt, beam, width, eos))
        beams = best(pool, width, alpha)
        if all(beam.finished for beam in beams):
            break
    return beams


def expand(model: Model, prompt: list[int], beam: Beam, width: int, eos: int) -> list[Beam]:
    """A beam with each of its best next tokens."""
    logprobs = np.asarray(model(prompt + list(beam.tokens)), dtype=np.float64)
    order = np.argsort(-logprobs)
    candidates = []
    for token in order[: 2 * width]:
        token = int(token)
        if logprobs[token] == -np.inf:  # impossible here
            break
        logprob = beam.logprob + float(logprobs[token])
        candidates.append(Beam((*beam.tokens, token), logprob, token == eos))
    return candidates


def best(pool: list[Beam], width: int, alpha: float) -> list[Beam]:
    """The best of a pool, best first."""
    ranked = sorted(pool, key=lambda beam: score(beam, alpha), reverse=True)
    return ranked[:width]


def score(beam: Beam, alpha: float) -> float:
    """Log-probability over the penalty of the generated length, EOS included."""
    length = len(beam.tokens)
    penalty = float(length) ** alpha
    return beam.logprob / penalty


def check(model: Model, prompts: Sequence[Sequence[int]], width: int, steps: int, eos: int) -> None:
    """Refuse arguments that make no sense."""
    if width < 1 or steps < 1:
        raise ValueError(f"beam_width is {width} and max_new_tokens is {steps}; both must be at least 1")
    if any(len(prompt) == 0 for prompt in prompts):
        raise ValueError("a prompt is empty")
    if not 0 <= eos < model.vocab_size:
        raise ValueError(f"eos_token_id is {eos}, and the vocabulary has {model.vocab_size}")
