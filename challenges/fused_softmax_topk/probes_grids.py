"""Probes of what is very large: more rows than 16 bits count, and rows of up to a million columns.

On the emulated device a launch of so many blocks takes about as long as all other probes together. So some of its
blocks are run first, those at both ends of the grid and around 2^16; only where these leave a doubt, all are.
"""

import numpy as np

from harness.model import Threshold
from harness.probing import Answer, CallTimedOut, Draw, NotMeasurable, NotRun, ProbeFailure, WorkerLost, probe
from harness.probing.failures import BEYOND_LIMITS
from harness.probing.launching import DeviceCall
from harness.probing.shrinking import Shrunk
from harness.probing.sizes import Axis, Case, Drawn
from harness.probing.sweeping import ENDLESS

from .alignment import aligned
from .binding import LARGEST_K, Floats, Launched, call, launch, normal, serving
from .families import logits_of
from .judging import require_right, right

WORD = 1 << 16
"""Rows that an index of 16 bits counts; the second and third dimension of a grid have one less."""
SAMPLED = 64
"""Rows that the blocks run first must have written at least, to tell anything."""
PART = 8
"""Of so many rows one is asked for, to tell a launch that does not end from a slow one."""
MANY_BLOCKS = 4096
"""Grids of fewer blocks are run whole, or nearly so: to look for the size where they fail takes too long."""
SLOW = 2.0
"""Seconds of a launch of some blocks that make a search too long: of a grid along y no part is run, but all."""
AGAIN = 4
"""How often two sizes are tried again between which rows begin to fail: what fails by chance is no matter of size."""

FAMILIES = ("normal", "neighbouring floats", "few values", "late winner", "winners last")
"""Of very long rows, those that ask no more of any way of selecting than normal logits do."""
MANY = 16
"""Candidates of a very long row of neighbouring floats, from which on some are equal."""


@probe({"rows": 17 * 1024, "vocab": 8, "k": 3}, {"rows": 4 * 1024 + 5, "vocab": 1100, "k": 9},
       {"rows": WORD + 37, "vocab": 3, "k": 3}, fit=serving,
       shrinker=lambda *failed: _smallest_grid(*failed))  # fmt: skip
def very_many_rows_are_served(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> dict[str, float]:
    """T09: every one of so many rows is written, and holds what is right."""
    logits = normal(draw, rows, vocab)
    if not _seems_right(answer, draw, logits, k):
        # what goes wrong may take long: seen in fewer rows it is seen in time
        if not _seems_right(answer, draw, logits[: rows // 4], k):
            _whole(answer, draw, logits[: rows // 4], k)
        _whole(answer, draw, logits, k)
    return {"most_rows": float(rows)}


@probe(
    drawn=Drawn(
        {"vocab": Axis(60_000, 1_200_000), "rows": Axis(1, 2), "k": Axis(MANY, LARGEST_K)}, count=6,
        choices={"family": FAMILIES, "shift": (0, 4, 8)},
    ),
    fit=lambda answer, case: aligned(answer, serving(answer, case)),
)  # fmt: skip
def very_long_rows_are_served(
    answer: Answer, draw: Draw, *, vocab: int, rows: int, k: int, family: str, shift: int
) -> dict[str, float]:
    """T22 at vocabularies nobody chose: columns far beyond 16 bits, sums of very many terms."""
    run = launch(answer, draw, logits_of(draw, family, rows, vocab, k), k, shift=shift)
    return {"error_ratio_long_rows": right(run, answer, draw)}


def _whole(answer: Answer, draw: Draw, logits: Floats, k: int) -> None:
    """Launch all blocks, and judge all rows.

    Raises:
        NotRun: this takes more time or memory than the answer may use.
        CallTimedOut: it does not end.
        ProbeFailure: some row is not right, or the call is refused.
    """
    try:
        run = launch(answer, draw, logits, k)
    except BEYOND_LIMITS as late:
        _require_accepted(answer, draw, logits, k)
        raise _too_many(answer, draw, logits, k, late) from None
    right(run, answer, draw)


def _require_accepted(answer: Answer, draw: Draw, logits: Floats, k: int) -> None:
    """Require that the answer accepts a call of so many rows, by running some of its blocks.

    Raises:
        ProbeFailure: it refuses the call, and accepts one of a part of the rows.
    """
    try:
        whole, part = (call(answer, draw, some, k, mode="sample") for some in (logits, logits[: len(logits) // PART]))
    except (ProbeFailure, NotMeasurable):
        return
    if whole.refused and not part.refused:
        raise whole.failure(f"rows = {len(logits)}, vocab = {logits.shape[1]}, k = {k}")


def _too_many(answer: Answer, draw: Draw, logits: Floats, k: int, late: ProbeFailure) -> Exception:
    """What a launch shows that ran into a limit: nothing, unless the blocks of a part of the rows end at once."""
    rows, part, taken = len(logits), len(logits) // PART, answer.cost.processor
    try:
        for _ in range(2):
            call(answer, draw, logits[:part], k, mode="sample")
    except (ProbeFailure, NotMeasurable):
        return NotRun(f"{rows} rows are too many for the emulated device: {late.title}")
    if isinstance(late, CallTimedOut) and answer.cost.processor * ENDLESS < taken:
        took = f"some blocks of {part} rows take {answer.cost.processor:.2g} s"
        return CallTimedOut(late.title, f"rows = {rows}: {late.detail}; {took}")
    return NotRun(f"{rows} rows are too many for the emulated device: {late.title}")


def _seems_right(answer: Answer, draw: Draw, logits: Floats, k: int) -> bool:
    """Whether some blocks of the launch, the first and the last among them, write what is right, and nothing else."""
    try:
        back = call(answer, draw, logits, k, mode="sample")
    except BEYOND_LIMITS as late:
        raise _too_many(answer, draw, logits, k, late) from None
    except (ProbeFailure, NotMeasurable):
        return False
    outputs = [back.regions[name] for name in ("probs", "indices")]
    written = np.concatenate([region.changed[region.inside].reshape(len(logits), k) for region in outputs], axis=1)
    rows = written.all(axis=1)
    beside = sum(int(region.changed.sum()) for region in outputs) != int(written.sum())
    some_alone = bool((written.any(axis=1) != rows).any())
    if back.code or back.report.found() or beside or some_alone or not back.kept("logits"):
        return False
    if not (rows[0] and rows[-1]) or rows.sum() < min(SAMPLED, len(rows)):
        return False
    try:
        require_right(Launched.of(back, logits, k).part(rows))
    except ProbeFailure:
        return False
    return True


def _smallest_grid(answer: Answer, draw: Draw, case: Case, failure: ProbeFailure) -> Shrunk:
    """Return the fewest rows that are not served, or the case itself where they are not found in time."""
    if isinstance(failure, WorkerLost):
        return Shrunk(case, failure)
    try:
        return _searched_grid(answer, draw, case, failure)
    except NotRun:
        return Shrunk(case, failure)


def _searched_grid(answer: Answer, draw: Draw, case: Case, failure: ProbeFailure) -> Shrunk:
    """Search for the fewest rows that are not served by launches of some blocks each; whole ones confirm them.

    Raises:
        NotRun: this takes too long.
    """
    rows, vocab, k = (int(case[name]) for name in ("rows", "vocab", "k"))
    logits = normal(draw, rows, vocab)
    if _blocks(call(answer, draw, logits[:MANY_BLOCKS], k)) < MANY_BLOCKS:
        return Shrunk(case, failure)
    passing, failing = 1, rows
    while failing - passing > 1:
        middle = (passing + failing) // 2
        fine = _seems_right(answer, draw, logits[:middle], k)
        if answer.cost.processor > SLOW:
            raise NotRun("to look for the fewest rows takes too long")
        passing, failing = (middle, failing) if fine else (passing, middle)
    for _ in range(AGAIN):  # other values each time in memory that nobody wrote
        if _seems_right(answer, draw, logits[:failing], k) or not _seems_right(answer, draw, logits[:passing], k):
            return Shrunk(case, failure)
    try:
        _whole(answer, draw, logits[:passing], k)
        _whole(answer, draw, logits[:failing], k)
    except ProbeFailure as again:
        if again.title == failure.title and f"rows = {failing}," in again.detail:
            begins = Threshold(axis="rows", right_at=passing, wrong_from=failing, onward=True)
            return Shrunk({**case, "rows": failing}, again, (begins,))
    return Shrunk(case, failure)


def _blocks(back: DeviceCall) -> int:
    """Blocks of all launches of a call."""
    return sum(n.count * n.grid[0] * n.grid[1] * n.grid[2] for n in back.report.launches)
