"""A probe of inputs that are views of other memory."""

import numpy as np

from harness.probing import Answer, Array, Draw, InputUse, laws, probe

from .binding import DTYPES, FUNCTION, Inputs, alive, draw_inputs
from .options import as_claimed

PLAIN = {"B": 2, "H": 3, "N": 12, "D": 4, "tile": 4}


@probe(*({**PLAIN, "dtype": dtype} for dtype in DTYPES), {**PLAIN, "N": 3, "dtype": "float64"}, M=12, fit=as_claimed)
def views_of_any_layout_are_served(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, M: int, D: int, tile: int, dtype: str
) -> None:
    """Views give what contiguous arrays of the same values give, one array in several places included."""
    given = draw_inputs(draw, B, H, M, D, tile, dtype)
    given = given.but(q=draw.normal(B, H, N, D))
    run = _run_of(answer, given)
    if M > N and laws.fails(run):  # `fewer_queries` judges that
        return
    k, v = (np.repeat(each[:, :1], H, axis=1) for each in (given.k, given.v))
    laws.layouts_do_not_matter(run)
    laws.layouts_do_not_matter(_run_of(answer, given.but(k=k, v=v)), [InputUse.BROADCAST])
    equal = given.but(**dict.fromkeys("kv" if M > N else "qkv", given.k))
    laws.layouts_do_not_matter(_run_of(answer, equal), [InputUse.ALIASED])


def _run_of(answer: Answer, given: Inputs) -> laws.ArrayCall:
    """Return a call, which leaves its arguments alone, as the laws call it."""

    def run(*, inputs: InputUse = InputUse.FRESH) -> laws.Arrays:
        plan = Array(given.q.shape, given.q.dtype.name)
        o = answer.call(FUNCTION, *given.arrays, given.tile, True, returns=plan, echo=True, inputs=inputs)
        laws.inputs_stay(dict(zip("qkv", given.arrays, strict=True)), answer.echo)
        return {"o": alive(o, given)}

    return run
