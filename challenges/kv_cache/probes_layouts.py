"""A probe of inputs that are views of other memory."""

import numpy as np

from harness.probing import Answer, Draw, InputUse, expect, laws, probe

from .binding import SLOT, Cache, Tokens, normal


@probe({"S": 3, "H": 2, "D": 4, "dtype": "float64"}, {"S": 5, "H": 3, "D": 4, "dtype": "float32"}, floors={"H": 2})
def views_of_any_layout_are_served(answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str) -> None:
    """Views give what contiguous arrays of the same values give, keys and values that all heads share included."""
    tokens = normal(draw, 1, H, S + 1, D, dtype)
    laws.layouts_do_not_matter(_run_of(answer, tokens, S))
    shared = tokens.but(k=tokens.k[:, :1], v=tokens.v[:, :1])
    laws.layouts_do_not_matter(_run_of(answer, shared, S), [InputUse.BROADCAST])


def _run_of(answer: Answer, tokens: Tokens, S: int) -> laws.ArrayCall:
    """Return a prompt of S tokens and a decode, which leave their arguments alone, as the laws call them."""

    def run(*, inputs: InputUse = InputUse.FRESH) -> laws.Arrays:
        cache, outs = Cache(answer, tokens), {}
        for name, call, part in (
            ("a prompt", cache.prefill, tokens.part(0, S)), ("a decode", cache.decode, tokens.part(S)),
        ):  # fmt: skip
            outs[name] = call([SLOT], part, echo=True, inputs=inputs)
            expect.alive("out", outs[name], part.q)
            laws.inputs_stay({"slots": np.array([SLOT]), "q": part.q, "k": part.k, "v": part.v}, answer.echo[:4])
        return outs

    return run
