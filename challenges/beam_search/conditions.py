"""Arguments under which a search may fail whatever else is asked of it."""

from collections.abc import Callable, Sequence
from typing import Any

from harness.probing.conditions import Condition


def _met(condition: Callable[..., bool]) -> Callable[[str, Sequence[Any]], bool]:
    """Return whether a call of the search has arguments that meet a condition."""
    return lambda function, args: function == "batched_beam_search" and condition(*args)


def _a_prompt(condition: Callable[[list[int], int], bool]) -> Callable[[str, Sequence[Any]], bool]:
    """Return whether a call of the search has a prompt that meets a condition of its tokens and EOS."""
    return _met(
        lambda model, prompts, width, steps, alpha, eos: isinstance(prompts, list)
        and any(condition(prompt, eos) for prompt in prompts)
    )


CONDITIONS = (
    Condition("EOS is the last token of a prompt", "eos", _a_prompt(lambda prompt, eos: prompt[-1:] == [eos])),
    Condition("a prompt holds EOS", "eos", _a_prompt(lambda prompt, eos: eos in prompt)),
    Condition("alpha is 0", "length_penalty", _met(lambda model, prompts, width, steps, alpha, eos: alpha == 0)),
    Condition("K is 1", "every_width", _met(lambda model, prompts, width, *_: width == 1)),
    Condition("there are several prompts", "independent_prompts",
              _met(lambda model, prompts, *_: isinstance(prompts, list) and len(prompts) > 1)),
    Condition("there are fewer than 2K tokens", "small_vocabularies",
              _met(lambda model, prompts, width, *_: model.attributes["vocab_size"] < 2 * width)),
)  # fmt: skip
