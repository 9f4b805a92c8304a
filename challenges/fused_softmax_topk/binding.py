"""How the probes of `fused_softmax_topk` draw logits, launch an answer on its device, and take in what comes back.

The parent draws everything that lies in device memory: the logits between NaNs, the outputs full of random bytes and
between random bytes. So a read beside the logits spoils a sum, a write beside the outputs is seen, and so is an output
that was never written.

The docstrings of the probes name the relations T01 to T28. Every entry of both outputs is judged in every launch:
whether it was written, whether its index is legal, whether it belongs there, and how far its probability is off.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.cuda.driver.driver import REPORT_BYTES
from harness.cuda.plausible import contradiction
from harness.cuda.report import Report, parse
from harness.probing import Answer, Array, Draw, NotMeasurable, ProbeFailure, Scalar

from .pattern import described

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Words = NDArray[np.uint32]

SYMBOL = "fused_softmax_topk"
BUFFERS = ("logits", "probs", "indices")
GUARD = 64
"""Numbers before and behind each buffer, in modes that do not watch every access: 256 bytes, so that an output starts
where device memory would."""
LARGEST_K = 256
"""What an answer serves that states no limit of its own."""


@dataclass(frozen=True)
class Launched:
    """One call and what it left in memory: logits (rows, vocab); probs and indices (rows, k), as they came back."""

    logits: Floats
    k: int
    probs: Floats
    indices: Ints
    report: Report
    kept: bool
    """Whether the logits are what they were, with all that lies around them."""

    @property
    def rows(self) -> int:
        return int(self.logits.shape[0])

    @property
    def vocab(self) -> int:
        return int(self.logits.shape[1])


@dataclass(frozen=True)
class Returned:
    """What a call returned, as it came: the outputs with their guards, and what was there before, as words."""

    code: int
    logits: Words
    probs: Words
    indices: Words
    report: Report
    before: tuple[Words, Words, Words]

    @property
    def untouched(self) -> bool:
        """Whether neither output, nor what lies around it, was written."""
        return bool((self.probs == self.before[1]).all() and (self.indices == self.before[2]).all())

    def launched(self, logits: Floats, k: int) -> Launched:
        """The same as of a legal call without guards; logits (rows, vocab) are what it was given."""
        shape = (logits.shape[0], k)
        probs, indices = self.probs.view(np.float32).reshape(shape), self.indices.view(np.int32).reshape(shape)
        return Launched(logits, k, probs, indices, self.report, bool((self.logits == self.before[0]).all()))


def max_k(answer: Answer) -> int:
    """The largest k that the answer says it serves."""
    stated = answer.capabilities.get("max_k", LARGEST_K)
    return stated if isinstance(stated, int) and stated >= 1 else LARGEST_K


def served(answer: Answer, k: int) -> int:
    """`k`, or the answer's limit where that is lower."""
    return min(k, max_k(answer))


def call(
    answer: Answer, draw: Draw, logits: Floats, k: int, *, mode: str = "plain", seed: int = 0, shift: int = 0,
    guard: int = GUARD,
) -> Returned:  # fmt: skip
    """Call the answer's function with any k.

    Args:
        answer: whom.
        draw: source of the random bytes.
        logits: (rows, vocab).
        k: as it is passed; the outputs have room for at least one entry a row.
        mode: of the device: plain, check, count or all.
        seed: of the schedule.
        shift: bytes by which the logits are off the alignment of device memory, a multiple of 4.
        guard: numbers before and behind each buffer.

    Raises:
        ProbeFailure: the call does not end as a call should.
        NotMeasurable: the device does not have what the answer needs, or not this mode.
    """
    rows, vocab = logits.shape
    lead = guard + shift // 4
    given = np.full(lead + logits.size + guard, np.nan, np.float32)
    given[lead : lead + logits.size] = logits.ravel()
    size = rows * max(k, 1) + 2 * guard
    probs, indices = (draw.rng.integers(0, 2**32, size, np.uint32) for _ in range(2))
    arguments = [
        _buffer("logits", given, 4 * lead), rows, vocab, k,
        _buffer("probs", probs.view(np.float32), 4 * guard), _buffer("indices", indices.view(np.int32), 4 * guard),
        "stream",
    ]  # fmt: skip
    plan = (
        Scalar(int), Array(given.shape, "float32"), Array(probs.shape, "float32"), Array(probs.shape, "int32"),
        Array((REPORT_BYTES,), "uint8"),
    )  # fmt: skip
    code, *arrays, report = answer.call("launch", SYMBOL, arguments, mode=mode, seed=seed, returns=plan)
    after, before = [array.view(np.uint32) for array in arrays], (given.view(np.uint32), probs, indices)
    changed = {name: 4 * int((a != b).sum()) for name, a, b in zip(BUFFERS, after, before, strict=True)}
    return Returned(code, *after, _read(report, mode, seed, changed), before)


def launch(
    answer: Answer, draw: Draw, logits: Floats, k: int, *, mode: str = "plain", seed: int = 0, shift: int = 0,
    guard: int = GUARD,
) -> Launched:  # fmt: skip
    """Call the answer's function with a k that it serves; every entry of both outputs must have been written.

    Raises:
        ProbeFailure: it refuses, fails, writes elsewhere or leaves entries unwritten.
        NotMeasurable: as `call`.
    """
    back = call(answer, draw, logits, k, mode=mode, seed=seed, shift=shift, guard=guard)
    where = f"rows = {logits.shape[0]}, vocab = {logits.shape[1]}, k = {k}"
    if back.code != 0 or (mode == "plain" and back.report.found()):
        raise ProbeFailure(_ending(back), f"{where}: it returns {back.code}{_words(back.report)}")
    inside = slice(guard, guard + logits.shape[0] * k)
    for name, after, before in (("probs", back.probs, back.before[1]), ("indices", back.indices, back.before[2])):
        touched = after != before
        touched[inside] = False
        if touched.any():
            place = int(np.flatnonzero(touched)[0]) - guard
            detail = f"{where}: {int(touched.sum())} numbers beside {name} are changed, the first at {name}[{place}]"
            raise ProbeFailure(f"writes outside {name}", detail, where=f"{name}[{place}]")
    shape = (logits.shape[0], k)
    stale = (back.probs == back.before[1])[inside] | (back.indices == back.before[2])[inside]
    _require_written(stale.reshape(shape), where)
    probs = back.probs[inside].view(np.float32).reshape(shape)
    indices = back.indices[inside].view(np.int32).reshape(shape)
    return Launched(logits, k, probs, indices, back.report, bool((back.logits == back.before[0]).all()))


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


def _buffer(name: str, array: NDArray[Any], shift: int) -> dict[str, Any]:
    return {"buffer": array, "shift": shift, "name": name, "back": True}


def _read(report: NDArray[np.uint8], mode: str, seed: int, changed: dict[str, int]) -> Report:
    parsed = parse(report.tobytes())
    if parsed is None:
        raise ProbeFailure("the device's report is spoilt", "what the device says of the call is no report")
    if parsed.unsupported:
        first = parsed.unsupported[0]
        place = f" ({first.file}:{first.line})" if first.file else ""
        raise NotMeasurable(f"unsupported on the emulated device: {first.what}{place}")
    wanted = {"plain": 0, "check": 1, "count": 2, "all": 3}[mode]
    if parsed.mode & wanted != wanted:
        raise NotMeasurable(f"this device does not {mode}")
    # a GPU counts nothing, so what runs plainly need not be told at all
    if wanted and (wrong := contradiction(parsed, mode=wanted, seed=seed, changed=changed)):
        raise ProbeFailure("the device's report cannot be true", wrong)
    return parsed


def _ending(back: Returned) -> str:
    defects = back.report.found()
    if defects:
        return f"the kernel ends with {defects[0].kind.replace('_', ' ')}"
    return "a legal call is refused" if back.code else "the call fails"


def _words(report: Report) -> str:
    said = [defect.text for defect in report.found()] + [f"{e.call}: {e.error}" for e in report.api_errors]
    return "".join(f"; {text}" for text in said[:3])


def _require_written(stale: NDArray[np.bool_], where: str) -> None:
    """No entry (rows, k) may be stale."""
    if not stale.any():
        return
    missing = stale.all(axis=1)
    row, entry = (int(i) for i in np.argwhere(stale)[0])
    if not missing.any():
        detail = f"{where}: {int(stale.sum())} of {stale.size} entries, the first at [{row}, {entry}]"
        raise ProbeFailure("entries are never written", detail, where=f"probs[{row}, {entry}]")
    rule = None if missing.all() else described(missing, "r")
    diagnosis = f"rows r with {rule} are never written" if rule else None
    detail = f"{where}: {int(missing.sum())} of {len(missing)} rows, the first is row {int(np.flatnonzero(missing)[0])}"
    raise ProbeFailure("rows are never written", detail, where=f"probs[{row}, {entry}]", diagnosis=diagnosis)
