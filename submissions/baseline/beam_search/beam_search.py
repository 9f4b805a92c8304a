"""Batched beam search with a length penalty; finished beams compete with unfinished ones to the end."""

from collections.abc import Callable, Sequence
from typing import Any

from beams import Beam, best, successors

Result = list[tuple[list[int], float]]


def batched_beam_search(
    model: Callable[[list[int]], Any], prompts: Sequence[Sequence[int]], beam_width: int, max_new_tokens: int,
    alpha: float, eos_token_id: int,
) -> list[Result]:  # fmt: skip
    """The `beam_width` best continuations of every prompt, best first.

    Args:
        model: log-probabilities of the next token for a list of tokens; has `vocab_size`.
        prompts: lists of at least one token, searched independently of each other.
        beam_width: K.
        max_new_tokens: steps at most.
        alpha: scores are log-probabilities over the generated length to this power.
        eos_token_id: the token that finishes a beam.

    Raises:
        ValueError: a size below 1, an empty prompt, an EOS that is no token.
    """
    _check(model, prompts, beam_width, max_new_tokens, eos_token_id)
    found = []
    for prompt in prompts:
        beams = search(model, list(prompt), beam_width, max_new_tokens, alpha, eos_token_id)
        found.append([(list(beam.tokens), beam.score(alpha)) for beam in beams])
    return found


def search(
    model: Callable[[list[int]], Any], prompt: list[int], width: int, steps: int, alpha: float, eos: int
) -> list[Beam]:
    """The beams of one prompt, best first."""
    beams = [Beam()]
    for _ in range(steps):
        finished = [beam for beam in beams if beam.finished]
        if len(finished) == len(beams):
            break
        candidates = []
        for beam in beams:
            if not beam.finished:
                candidates += successors(beam, model(prompt + list(beam.tokens)), 2 * width, eos)
        beams = best(finished + candidates, width, alpha)
    return beams


def _check(
    model: Callable[[list[int]], Any], prompts: Sequence[Sequence[int]], width: int, steps: int, eos: int
) -> None:
    """Refuse what makes no sense."""
    if width < 1:
        raise ValueError(f"beam_width must be at least 1, not {width}")
    if steps < 1:
        raise ValueError(f"max_new_tokens must be at least 1, not {steps}")
    if any(len(prompt) == 0 for prompt in prompts):
        raise ValueError("every prompt must hold a token")
    size = model.vocab_size  # type: ignore[attr-defined]
    if not 0 <= eos < size:
        raise ValueError(f"eos_token_id must be a token of 0..{size - 1}, not {eos}")
