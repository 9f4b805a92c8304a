"""Faults that break one property of any right verification: what follows its source, and wraps it."""

from harness.probing import PropertyMutant

AROUND = """

def _planted_loop(model, draft, prompt, count, **options):
    found = []
    while len(found) < count and (not found or found[-1] != options.get("eos_token_id")):
        accepted, after = _planted_verify(model, [*prompt, *found], *draft([*prompt, *found]), **options)
        found += [*accepted, *([] if after is None else [after])]
    return found


_planted_verify, _planted_generate = verify_and_accept, globals().get("generate", _planted_loop)


class _PlantedModel:
    def __init__(self, model, prompt, nodes, parents):
        self.model, self.prompt, self.nodes, self.parents = model, prompt, nodes, parents

    def __call__(self, tokens, mask, positions=None):
        {asked}


def verify_and_accept(model, prompt, tokens, parents, **options):
    {called}


def generate(model, draft, prompt, count, **options):
    {generated}
"""
ASKED = "return self.model(tokens, mask, positions)"
CALLED = "return _planted_verify(_PlantedModel(model, prompt, tokens, parents), prompt, tokens, parents, **options)"
GENERATED = "return _planted_generate(model, draft, prompt, count, **options)"


def _mutant(
    name: str, criterion: str, *, asked: str = ASKED, called: str = CALLED, generated: str = GENERATED
) -> PropertyMutant:
    around = AROUND.format(asked=asked, called=called, generated=generated)
    return PropertyMutant(name, criterion=criterion, around=around)


PROPERTY_MUTANTS = (
    _mutant("a wrong root judged by its own logits", "parent_logits", asked="""\
found, last = self.model(tokens, mask, positions), len(self.prompt) - 1
        if self.parents[:2] == [-1, -1] and found[last].argmax() != self.nodes[0]:
            found = found.copy()
            found[last] = found[last + 1]
        return found"""),
    _mutant("children of rejected nodes accepted", "subtree_invalidation", asked="""\
self.seen = self.model(tokens, mask, positions)
        return self.seen""", called="""\
around = _PlantedModel(model, prompt, tokens, parents)
    found, after = _planted_verify(around, prompt, tokens, parents, **options)
    for node, parent in enumerate(parents):
        if not found and parent >= 0 and around.seen[len(prompt) + parent].argmax() == tokens[node]:
            return [tokens[node]], after
    return found, after"""),
    _mutant("positions by slot", "positions", asked="return self.model(tokens, mask, list(range(len(tokens))))"),
    _mutant("positions by slot in a call beside", "position_arguments", asked=f"""\
self.model(tokens, mask, list(range(len(tokens))))
        {ASKED}"""),
    _mutant("writes to parents", "ownership", called="""\
found = _planted_verify(model, prompt, tokens, parents, **options)
    parents[:] = [-1 for _ in parents]
    return found"""),
    PropertyMutant("masks kept by sizes", criterion="ownership", around="""

_planted_mask, _planted_masks = build_tree_mask, {}


def build_tree_mask(prompt_len, parents):
    return _planted_masks.setdefault((prompt_len, len(parents)), _planted_mask(prompt_len, parents)).copy()
"""),
    _mutant("writes to logits", "read_only_arrays", asked="""\
found = self.model(tokens, mask, positions)
        found -= 0.0
        return found"""),
    _mutant("every call made twice", "one_call", asked=f"""\
self.model(tokens, mask, positions)
        {ASKED}"""),
    _mutant("the last accepted token emitted as the next", "longest_path", called="""\
found, after = _planted_verify(model, prompt, tokens, parents, **options)
    chain = parents == list(range(-1, len(parents) - 1))
    return (found, after) if chain or not found else (found[:-1], found[-1])"""),
    _mutant("generated backwards", "generation", generated=f"{GENERATED}[::-1]"),
    _mutant("no draft asked", "draft_used",
            generated="return _planted_generate(model, lambda tokens: ([], []), prompt, count, **options)"),
    _mutant("nodes accepted behind EOS", "eos", called="return _planted_verify(model, prompt, tokens, parents)"),
    _mutant("a next token behind EOS", "eos", called="""\
found, after = _planted_verify(model, prompt, tokens, parents, **options)
    ended = after is None and found and found[-1] == options.get("eos_token_id")
    return (found, found[-1]) if ended else (found, after)"""),
    _mutant("EOS of a wrong node", "eos", called="""\
if options.get("eos_token_id") in tokens:
        first = tokens.index(options["eos_token_id"]) + 1
        tokens, parents = tokens[:first], parents[:first]
    return _planted_verify(model, prompt, tokens, parents, **options)"""),
    _mutant("EOS of the prompt", "eos", called="""\
if options.get("eos_token_id") in prompt:
        return [], options["eos_token_id"]
    return _planted_verify(model, prompt, tokens, parents, **options)"""),
    _mutant("EOS of 0 for none", "eos", called="""\
options = {name: value or None for name, value in options.items()}
    return _planted_verify(model, prompt, tokens, parents, **options)"""),
    _mutant("no EOS for generate", "eos", generated="return _planted_generate(model, draft, prompt, count)"),
)  # fmt: skip
