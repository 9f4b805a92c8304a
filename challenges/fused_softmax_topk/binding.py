"""How the probes of `fused_softmax_topk` draw logits and launch an answer.

The docstrings of the probes name the relations T01 to T28. Every entry of both outputs is judged in every launch:
whether it was written, whether its index is legal, whether it belongs there, and how far its probability is off.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.probing import Answer, Draw, ProbeFailure
from harness.probing.checked import require_launches
from harness.probing.failures import CallRefused, KernelFailed, WrittenOutside, WrongOutputs
from harness.probing.launching import STREAM, DeviceCall, InputBuffer, OutputBuffer, Report
from harness.probing.launching import launch as launch_symbol
from harness.probing.sizes import Case

from . import oracle

Floats = NDArray[np.float32]
Precise = NDArray[np.floating[Any]]
"""Of the oracle."""
Ints = NDArray[np.int32]

SYMBOL = "fused_softmax_topk"
LIMITS, SIZES = "every_k", "any_size"
"""The criteria whose property is broken where another k is served, and where other sizes are."""
PLAIN = (2, 64)
"""Rows and columns of a call at which an answer that serves any call ends well."""
ALIGNED = 16
"""Bytes of the widest access: what begins at a multiple of them is read as any other such row."""
FEW = 10
"""A k that answers with a limit serve."""
LARGEST_K = 256
"""What an answer serves that states no limit of its own."""
CONTENTS = ("nan", "zeros", "mixed", "mixed", "mixed")
"""Fills of memory that nobody has written, with which a call that is wrong is made again."""


@dataclass(frozen=True)
class Launched:
    """One legal call: logits (rows, vocab) as passed; probs and indices (rows, k) as returned."""

    logits: Floats
    k: int
    probs: Floats
    indices: Ints
    report: Report
    kept: bool
    """Whether the logits are what they were, with all that lies around them."""
    again: Callable[[str], Ints] | None = None
    """Returns what the same call leaves with another fill of memory that nobody has written: see `outputs`."""
    relaunch: Callable[[Floats], "Launched"] | None = None
    """Makes a call of some of the rows, the first as aligned as here, with NaN in memory that nobody has written."""
    numbers: NDArray[np.intp] | None = None
    """Which rows of the launch these are, where they are not all."""
    of_rows: int = 0
    """How many rows the launch had, where these are not all."""

    @classmethod
    def of(
        cls, back: DeviceCall, logits: Floats, k: int, again: Callable[[str], Ints] | None = None,
        relaunch: Callable[[Floats], "Launched"] | None = None,
    ) -> "Launched":  # fmt: skip
        """A call that was made with these."""
        return cls(logits, k, back["probs"], back["indices"], back.report, back.kept("logits"), again, relaunch)

    def replying(self, entries: Ints) -> "Launched":
        """Return the same call with other outputs, see `outputs`, and no way to make it again."""
        indices, probs = entries[..., 0], entries[..., 1].view(np.float32)
        return replace(self, indices=indices, probs=probs, again=None, relaunch=None)

    @property
    def rows(self) -> int:
        return int(self.logits.shape[0])

    @property
    def vocab(self) -> int:
        return int(self.logits.shape[1])

    @property
    def launched_rows(self) -> int:
        """Return how many rows the launch had."""
        return self.of_rows or self.rows

    @property
    def sizes(self) -> str:
        """Return the sizes of the launch in words."""
        return f"rows = {self.launched_rows}, vocab = {self.vocab}, k = {self.k}"

    def number(self, row: int) -> int:
        """Return which row of the launch one of these rows is."""
        return row if self.numbers is None else int(self.numbers[row])

    @cached_property
    def depths(self) -> Precise:
        """How far each logit lies below the largest of its row: (rows, vocab)."""
        return oracle.below_maximum(self.logits)

    @cached_property
    def exact(self) -> Precise:
        """The softmax over each row: (rows, vocab)."""
        return oracle.softmax(self.logits, self.depths)

    @cached_property
    def refilled(self) -> "tuple[Launched, ...]":
        """Return the same call with each of `CONTENTS` in memory that nobody has written, if it can be made again."""
        return tuple(self.replying(self.again(fill)) for fill in CONTENTS) if self.again else ()

    def part(self, rows: NDArray[np.bool_]) -> "Launched":
        """Return what was given and returned for some of the rows, which keep their numbers."""
        again, numbers = self.again, np.flatnonzero(rows)
        return replace(
            self, logits=self.logits[rows], probs=self.probs[rows], indices=self.indices[rows],
            again=again and (lambda fill: again(fill)[rows]), of_rows=self.launched_rows,
            numbers=numbers if self.numbers is None else self.numbers[numbers],
        )  # fmt: skip


def max_k(answer: Answer) -> int:
    """The largest k that the answer says it serves."""
    stated = answer.capabilities.get("max_k", LARGEST_K)
    return stated if isinstance(stated, int) and stated >= 1 else LARGEST_K


def served(answer: Answer, k: int) -> int:
    """`k`, or the answer's limit where that is lower."""
    return min(k, max_k(answer))


def serving(answer: Answer, case: Case) -> Case:
    """Return a case with the nearest k to its own that there can be and the answer serves."""
    k = min(served(answer, int(case["k"])), int(case.get("vocab", case["k"])))
    return {**case, "k": k}


def call(
    answer: Answer, draw: Draw, logits: Floats, k: int, *, shift: int = 0,
    output_shifts: Mapping[str, int] = MappingProxyType({}), **options: Any,
) -> DeviceCall:  # fmt: skip
    """Call the answer's function with any k; the outputs have room for at least one entry a row.

    `shift` is by how many bytes the logits are off the alignment of device memory, `output_shifts` has the same of the
    outputs by name; the rest is as for `harness.probing.launching.launch`.
    """
    rows, vocab = logits.shape
    room = (rows, max(k, 1))
    outputs = [OutputBuffer(name, room, dtype, output_shifts.get(name, 0))
               for name, dtype in (("probs", "float32"), ("indices", "int32"))]  # fmt: skip
    arguments = (InputBuffer("logits", logits, shift), rows, vocab, k, *outputs, STREAM)
    return launch_symbol(answer, draw, SYMBOL, arguments, **options)


def launch(answer: Answer, draw: Draw, logits: Floats, k: int, **options: Any) -> Launched:
    """`call` with a k that the answer serves: it must succeed and write every entry of the rows that are specified (see
    `families.good_rows`), and nothing else.

    Raises:
        ProbeFailure: it refuses, fails, writes elsewhere or leaves entries unwritten.
        NotMeasurable: as `call`.
    """
    back = call(answer, draw, logits, k, **options)
    specified = np.isfinite(logits.max(axis=1))
    try:
        back.require_complete(_sizes(logits, k), specified)
    except WrittenOutside as why:
        why.fault_of = "memory_safety"
        raise
    except CallRefused as why:
        why.fault_of = _owner_of_refusal(answer, draw, logits, k, options)
        raise
    except KernelFailed as why:
        if not _is_written(answer, draw, normal(draw, *PLAIN), 1, {}):
            why.fault_of = "values"
        raise
    except WrongOutputs as why:
        row = int(np.argmax(_unwritten(back) & specified))
        alone = len(logits) > 1 and _is_written(answer, draw, logits[row : row + 1], k, options)
        why.fault_of = "rows" if alone else "values"
        fewer = min(FEW, k // 2)
        if not alone and fewer and _is_written(answer, draw, logits, fewer, options):
            why.fault_of, why.detail = LIMITS, f"{why.detail}; with k = {fewer} every entry is written"
        raise

    def again(fill: str) -> Ints:
        other = call(answer, draw, logits, k, **{**options, "fill": fill})
        return outputs(other["indices"], other["probs"])

    def relaunch(rows: Floats) -> Launched:
        first = int(np.argmax((logits == rows[0]).all(axis=1)))
        shift = (options.get("shift", 0) + first * logits.shape[1] * logits.itemsize) % ALIGNED
        return launch(answer, draw, rows, k, **{**options, "fill": "nan", "shift": shift})

    return Launched.of(back, logits, k, again, relaunch)


def outputs(indices: Ints, probs: Floats) -> Ints:
    """Return indices, and the bits of the probabilities beside them: (rows, k, 2)."""
    return np.stack([indices, probs.view(np.int32)], axis=-1)


def watch(answer: Answer, draw: Draw, logits: Floats, k: int, where: str = "", **options: Any) -> Report:
    """Return the report of a `call` in mode check or count; `where` says what is special of it.

    Raises:
        ProbeFailure: it is refused, which is the fault of the criterion that `launch` names, or launches nothing.
    """
    back = call(answer, draw, logits, k, **options)
    try:
        return require_launches(back, f"{_sizes(logits, k)}{where}")
    except CallRefused as why:
        why.fault_of = _owner_of_refusal(answer, draw, logits, k, options)
        raise


def _owner_of_refusal(answer: Answer, draw: Draw, logits: Floats, k: int, options: Mapping[str, Any]) -> str:
    """Return the criterion whose property a refused call breaks; empty where neither its sizes nor its k decide."""
    if _refuses(answer, draw, normal(draw, *PLAIN), 1, {}):
        return "values"
    rows, vocab = PLAIN[0], max(PLAIN[1], 2 * k)
    small = normal(draw, rows, vocab)
    if _refuses(answer, draw, small, k, options):
        return LIMITS if k > FEW and not _refuses(answer, draw, small, FEW, options) else ""
    return SIZES if _refuses(answer, draw, normal(draw, *logits.shape), k, options) else ""


def _refuses(answer: Answer, draw: Draw, logits: Floats, k: int, options: Mapping[str, Any]) -> bool:
    """Say whether a call does not end well, whatever it writes."""
    try:
        back = call(answer, draw, logits, k, **options)
    except ProbeFailure:
        return True
    return back.code != 0 or (not back.defects and bool(back.report.found()))


def _unwritten(back: DeviceCall) -> NDArray[np.bool_]:
    """Return which rows of the outputs lack an entry: (rows,)."""
    regions = (back.regions[name] for name in ("probs", "indices"))
    lacking = [~region.changed[region.inside].reshape(region.values.shape).all(axis=1) for region in regions]
    return np.any(lacking, axis=0)


def _is_written(answer: Answer, draw: Draw, logits: Floats, k: int, options: Mapping[str, Any]) -> bool:
    """Return whether a call writes every entry of its outputs."""
    try:
        call(answer, draw, logits, k, **options).require_complete(_sizes(logits, k))
    except ProbeFailure:
        return False
    return True


def _sizes(logits: Floats, k: int) -> str:
    return f"rows = {logits.shape[0]}, vocab = {logits.shape[1]}, k = {k}"


def normal(draw: Draw, rows: int, vocab: int, std: float = 3.0) -> Floats:
    """Normal logits of different size in each row: a stale row cannot pass for the next one."""
    scales = std * 2.0 ** (np.arange(rows) % 4 - 1)
    values: Floats = (draw.normal(rows, vocab) * scales[:, None]).astype(np.float32)
    return values


def spaced(draw: Draw, rows: int, vocab: int, *, low: float = -8.0, high: float = 8.0) -> Floats:
    """Logits all different, in random order: `vocab` numbers evenly spaced over [low, high]."""
    ladder = np.linspace(low, high, vocab).astype(np.float32)
    return np.stack([ladder[draw.permutation(vocab)] for _ in range(rows)])


def planted(draw: Draw, columns: NDArray[Any], vocab: int, lift: float = 12.0) -> Floats:
    """Background logits in [-1, 1], and in row r winners at columns[r], all different, `lift` and more above it."""
    logits = draw.uniform(len(columns), vocab, dtype="float32")
    for row, winners in enumerate(columns):
        order = draw.permutation(len(winners))
        logits[row, winners] = lift + 4.0 * order / max(len(winners), 2)
    return logits
