"""A probe of inputs that are views of other memory."""

from functools import partial

import numpy as np

from harness.probing import Answer, Draw, InputUse, laws, probe

from .binding import DTYPES, Inputs, Results, alive, draw_inputs, results
from .bounds import alike
from .flash_attention.options import as_claimed

PLAIN = {"B": 2, "H": 3, "N": 12, "D": 4, "tile": 4}


@probe(*({**PLAIN, "dtype": dtype} for dtype in DTYPES), {**PLAIN, "N": 3, "dtype": "float64"}, M=12, fit=as_claimed)
def views_of_any_layout_are_served(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, M: int, D: int, tile: int, dtype: str
) -> None:
    """Views give what contiguous arrays of the same values give, one array in several places included."""
    given = draw_inputs(draw, B, H, M, D, tile, dtype)
    given = given.but(q=draw.normal(B, H, N, D), do=draw.normal(B, H, N, D))
    if M > N and laws.fails(partial(_run, answer, given)):  # `fewer_queries` judges that
        return
    k, v = (np.repeat(each[:, :1], H, axis=1) for each in (given.k, given.v))

    def agree(got: laws.Arrays, wanted: laws.Arrays, title: str) -> None:
        doing = "such inputs, and contiguous arrays of their own"
        alike(Results(**got), Results(**wanted), title.format, doing, answer, given, draw)

    laws.layouts_do_not_matter(partial(_run, answer, given), agree=agree)
    laws.layouts_do_not_matter(partial(_run, answer, given.but(k=k, v=v)), [InputUse.BROADCAST], agree)
    equal = given.but(**dict.fromkeys("kv" if M > N else "qkv", given.k))
    laws.layouts_do_not_matter(partial(_run, answer, equal), [InputUse.ALIASED], agree)


def _run(answer: Answer, given: Inputs, *, inputs: InputUse = InputUse.FRESH) -> laws.Arrays:
    """Both passes, whose outputs are neither constant nor copies."""
    return alive(results(answer, given, inputs), given)._asdict()
