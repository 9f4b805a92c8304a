"""A probe of inputs that are views of other memory."""

import numpy as np

from harness.probing import Answer, Draw, InputUse, laws, probe

from .binding import DTYPES, draw_inputs
from .probes_laws import SIZES, run_of


@probe(*({"dtype": dtype} for dtype in DTYPES), **SIZES, fixed=("group",))
def views_of_any_layout_are_served(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """Views give what contiguous arrays of the same values give."""
    given = draw_inputs(draw, rows, columns, out, group, dtype)
    laws.layouts_do_not_matter(run_of(answer, given))
    w, dy = np.repeat(given.w[:1], out, axis=0), np.repeat(given.dy[:1], rows, axis=0)
    laws.layouts_do_not_matter(run_of(answer, given.but(w=w, dy=dy)), [InputUse.BROADCAST])
