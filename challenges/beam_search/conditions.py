"""Arguments under which a search may fail whatever else is asked of it."""

from collections.abc import Callable

from harness.probing.conditions import Condition


def _condition(name: str, criterion: str, met: Callable[..., bool]) -> Condition:
    """Return the condition that a call of the search has arguments that meet it."""
    return Condition(name, criterion, lambda function, args: function == "batched_beam_search" and met(*args))


def _a_prompt(met: Callable[[list[int], int], bool]) -> Callable[..., bool]:
    """Return whether one of the prompts meets a condition of its tokens and EOS."""
    return lambda model, prompts, width, steps, alpha, eos: (
        isinstance(prompts, list) and any(met(prompt, eos) for prompt in prompts)
    )


CONDITIONS = (
    _condition("EOS is the last token of a prompt", "eos", _a_prompt(lambda prompt, eos: prompt[-1:] == [eos])),
    _condition("a prompt holds EOS", "eos", _a_prompt(lambda prompt, eos: eos in prompt)),
    _condition("alpha is 0", "length_penalty", lambda model, prompts, width, steps, alpha, eos: alpha == 0),
    _condition("K is 1", "every_width", lambda model, prompts, width, *_: width == 1),
    _condition("there are several prompts", "independent_prompts",
               lambda model, prompts, *_: isinstance(prompts, list) and len(prompts) > 1),
    _condition("there are fewer than 2K tokens", "small_vocabularies",
               lambda model, prompts, width, *_: model.attributes["vocab_size"] < 2 * width),
)  # fmt: skip
