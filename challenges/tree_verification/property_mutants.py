"""Faults that break one property of any right verification: what follows its source, and wraps it."""

from harness.probing import PropertyMutant

AROUND = """
_planted_verify, _planted_generate = verify_and_accept, globals().get("generate")


class _PlantedModel:
    def __init__(self, model):
        self.model = model

    def __call__(self, tokens, mask, positions=None):
        {asked}


def verify_and_accept(model, prompt, tokens, parents):
    {called}


if _planted_generate:
    def generate(model, draft, prompt, count):
        {generated}
"""
WRAPPED = "return _planted_verify(_PlantedModel(model), prompt, tokens, parents)"


def _mutant(
    name: str, criterion: str, called: str = WRAPPED, asked: str = "return self.model(tokens, mask, positions)",
    generated: str = "return _planted_generate(model, draft, prompt, count)",
) -> PropertyMutant:  # fmt: skip
    around = AROUND.format(called=called, asked=asked, generated=generated)
    return PropertyMutant(name, criterion=criterion, around=around, needs="generate" * (criterion == "generation"))


PROPERTY_MUTANTS = (
    _mutant("positions by slot", "positions", asked="return self.model(tokens, mask, list(range(len(tokens))))"),
    _mutant("writes to parents", "ownership", called="""\
found = _planted_verify(model, prompt, tokens, parents)
    parents[:] = [-1 for _ in parents]
    return found"""),
    _mutant("writes to logits", "read_only_arrays", asked="""\
found = self.model(tokens, mask, positions)
        found -= 0.0
        return found"""),
    _mutant("every call made twice", "one_call", asked="""\
self.model(tokens, mask, positions)
        return self.model(tokens, mask, positions)"""),
    _mutant("the last accepted token emitted as the next", "longest_path", called="""\
found, after = _planted_verify(model, prompt, tokens, parents)
    chain = parents == list(range(-1, len(parents) - 1))
    return (found, after) if chain or not found else (found[:-1], found[-1])"""),
    _mutant("generated backwards", "generation",
            generated="return _planted_generate(model, draft, prompt, count)[::-1]"),
)  # fmt: skip
