"""Faults that break one property of any right search: what follows its source, and wraps it."""

from harness.probing import PropertyMutant

AROUND = """
_planted_search = batched_beam_search


class _PlantedModel:
    def __init__(self, model):
        self.model, self.vocab_size = model, model.vocab_size

    def __call__(self, tokens):
        {asked}


def batched_beam_search(model, prompts, width, steps, alpha, eos):
    {called}
"""


def _mutant(name: str, criterion: str, called: str, asked: str = "return self.model(tokens)") -> PropertyMutant:
    return PropertyMutant(name, criterion=criterion, around=AROUND.format(called=called, asked=asked))


PROPERTY_MUTANTS = (
    _mutant("prompts padded to the longest", "independent_prompts", """\
longest = max(map(len, prompts), default=0)
    prompts = [[0] * (longest - len(prompt)) * bool(prompt) + list(prompt) for prompt in prompts]
    return _planted_search(model, prompts, width, steps, alpha, eos)"""),
    _mutant("sums carried to a prompt that continues one before it", "independent_prompts", """\
found = list(_planted_search(model, prompts, width, steps, alpha, eos))
    for n, prompt in enumerate(prompts):
        starts = [len(one) for one in prompts[:n] if len(one) < len(prompt) and prompt[: len(one)] == one]
        carried = sum(float(model(prompt[:m])[prompt[m]]) for m in range(min(starts, default=len(prompt)), len(prompt)))
        found[n] = [(tokens, score + carried / len(tokens) ** alpha) for tokens, score in found[n]]
    return found"""),
    _mutant("prompts put in another order", "ownership", """\
found = _planted_search(model, [list(prompt) for prompt in prompts], width, steps, alpha, eos)
    prompts[:] = prompts[::-1]
    return found"""),
    _mutant("writes to log-probabilities", "read_only_arrays", """\
return _planted_search(_PlantedModel(model), prompts, width, steps, alpha, eos)""", """\
found = self.model(tokens)
        found -= 0.0
        return found"""),
    _mutant("every call made three times", "model_calls", """\
return _planted_search(_PlantedModel(model), prompts, width, steps, alpha, eos)""", """\
return [self.model(tokens) for _ in range(3)][0]"""),
    _mutant("a call for what has ended", "no_idle_calls", """\
found = _planted_search(model, prompts, width, steps, alpha, eos)
    [model([*prompt, *tokens]) for prompt, beams in zip(prompts, found) for tokens, _ in beams if tokens[-1] == eos]
    return found"""),
    _mutant("log-probabilities cut at -500", "tiny_probabilities", """\
return _planted_search(_PlantedModel(model), prompts, width, steps, alpha, eos)""", """\
import numpy
        return numpy.maximum(self.model(tokens), -500.0)"""),
)  # fmt: skip
