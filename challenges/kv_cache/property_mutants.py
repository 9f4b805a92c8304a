"""Faults that break one property of any right cache: what follows its source, and wraps it."""

from harness.probing import PropertyMutant

AROUND = """

import numpy as _planted_np

_planted_prefill, _planted_decode, _planted_release, _planted_kept = prefill, decode, release, []
_planted_latest = {{}}


def _planted_given(cache, layer, v, lengths):
    _planted_latest[id(cache), int(layer)] = cache, v[:1, :1, lengths[0] - 1 : lengths[0]].copy()


def prefill(cache, layer, slots, q, k, v, lengths):
    {prefill}
    _planted_given(cache, layer, v, lengths)
    return out


def decode(cache, layer, slots, q, k, v):
    {decode}
    _planted_given(cache, layer, v, [1])
    return out


def release(cache, slot):
    {release}
"""
PREFILL = "out = _planted_prefill(cache, layer, slots, q, k, v, lengths)"
WRITABLE = "if hasattr(lengths, 'flags') and lengths.flags.writeable"  # some designs call their own prefill with a list
DECODE = "out = _planted_decode(cache, layer, slots, q, k, v)"
RELEASE = "_planted_release(cache, slot)"
FROM_BELOW = """
    below = _planted_latest.get((id(cache), int(layer) - 1))
    out = out if below is None else out + below[1]"""
ROWS = "\n    for b, n in enumerate(lengths):\n        "
KEEPS_PADDING = f"""{ROWS}if n < v.shape[2]:
            _planted_latest[id(cache), int(layer), int(slots[b])] = cache, 0 * v[b, :1, -1:]"""
ADDS_PADDING = """
    for b, slot in enumerate(slots):
        out[b] += _planted_latest.get((id(cache), int(layer), int(slot)), (None, 0))[1]"""

ROOM_OF_THE_LONGEST = """
    held = _planted_latest.setdefault(id(cache), {})
    held.update(zip(slots, lengths))
    unused = sum(max(held.values()) - n for n in held.values())
    _planted_kept[:] = [_planted_np.ones((unused, k.shape[1], 2 * k.shape[3]), k.dtype)]"""


def _mutant(
    name: str, criterion: str, *, prefill: str = PREFILL, decode: str = DECODE, release: str = RELEASE
) -> PropertyMutant:
    around = AROUND.format(prefill=prefill, decode=decode, release=release)
    return PropertyMutant(name, criterion=criterion, around=around)


PROPERTY_MUTANTS = (
    _mutant("v in the order of its memory", "any_layout",
            prefill=f"v = v.ravel(order='K').reshape(v.shape)\n    {PREFILL}"),
    _mutant("the buffer of q", "any_layout",
            decode=f"q = _planted_np.frombuffer(q.data, q.dtype).reshape(q.shape)\n    {DECODE}"),
    _mutant("the last token in all", "causality", prefill=f"{PREFILL}{ROWS}out[b, :, :n] += 0.1 * v[b, :1, n - 1 : n]"),
    _mutant("padding in all", "ragged_lengths",
            prefill=f"{PREFILL}{ROWS}out[b, :, :n] += 0.1 * v[b, :1, -1:] * (n < v.shape[2])"),
    _mutant("padding times zero in all", "any_padding",
            prefill=f"{PREFILL}{ROWS}out[b, :, :n] += 0 * v[b, :1, -1:] * (n < v.shape[2])"),
    _mutant("padding times zero in later tokens", "any_padding",
            prefill=PREFILL + KEEPS_PADDING, decode=DECODE + ADDS_PADDING),
    _mutant("prompts that are not finite refused", "any_padding",
            prefill=f"if not _planted_np.isfinite(q).all():\n        raise ValueError('not finite')\n    {PREFILL}"),
    _mutant("the first row in all", "batch_isolation",
            decode=f"{DECODE}\n    out = out + 0.1 * v[:1, :1] * (len(slots) > 1)"),
    _mutant("the layer below in the next", "layer_isolation", prefill=PREFILL + FROM_BELOW, decode=DECODE + FROM_BELOW),
    _mutant("nothing released", "slot_reuse", release="pass"),
    _mutant("everything released", "slot_reuse",
            release="for other in range(4):\n        _planted_release(cache, other)"),
    _mutant("slots in order", "slots", decode="out = _planted_decode(cache, layer, _planted_np.sort(slots), q, k, v)"),
    _mutant("everything kept", "memory_growth", prefill=f"{PREFILL}\n    _planted_kept.extend([k.copy(), v.copy()])"),
    _mutant("room of the longest for all", "memory_growth", prefill=f"{PREFILL}{ROOM_OF_THE_LONGEST}"),
    _mutant("writes to values", "ownership", decode=f"{DECODE}\n    v *= 1.5"),
    _mutant("counts up slots that may be written to", "ownership",
            decode=f"{DECODE}\n    if slots.flags.writeable:\n        slots += 1"),
    _mutant("clears lengths that may be written to", "ownership",
            prefill=f"{PREFILL}\n    {WRITABLE}:\n        lengths[:] = 0"),
    _mutant("writes to values and puts them back", "ownership",
            decode=f"held = v.copy()\n    v *= 1.5\n    v[...] = held\n    {DECODE}"),
    _mutant("sorts slots in place", "ownership",
            decode=f"{DECODE}\n    if slots.flags.writeable:\n        slots[...] = _planted_np.sort(slots)"),
    _mutant("counts lengths down", "ownership",
            prefill=f"{PREFILL}\n    {WRITABLE}:\n        lengths[1:] -= 1"),
    _mutant("writes to large queries", "ownership",
            decode=f"{DECODE}\n    if q.size >= 65536 and q.flags.writeable:\n        q *= 0.5"),
    _mutant("equal calls answered by one array", "ownership", decode=f"""\
{DECODE}
    out = _planted_latest.setdefault((q.tobytes(), out.tobytes()), out)"""),
    _mutant("one array returned again and again", "ownership", decode=f"""\
{DECODE}
    kept = _planted_latest.setdefault((out.shape, out.dtype.str), out.copy())
    kept[...] = out
    out = kept"""),
)  # fmt: skip
