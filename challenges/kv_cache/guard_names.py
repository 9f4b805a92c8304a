"""What a guard of a planted fault may name of a call: its sizes, what the slots hold, and questions about its values.

This runs beside the answer with the fault in it; each function is called with the arguments of the contract's, `after`
when a call returned, `refused` when it raised.
"""

import numpy as np

_handles = {}


class _Handle:
    def __init__(self, given, number):
        self.given, self.number = given, number
        self.held, self.steps, self.released, self.forked, self.refused = {}, 0, set(), False, False


def create_cache(**given):
    """Name what a guard asks of a call of `create_cache`."""
    return _sizes(given) | {"handle": len(_handles) + 1}


def prefill(cache, layer, slots, q, k, v, lengths):
    """Name what a guard asks of a call of `prefill`."""
    return _call(cache, layer, slots, q, k, v, lengths) | {"prefills": True}


def decode(cache, layer, slots, q, k, v):
    """Name what a guard asks of a call of `decode`."""
    return _call(cache, layer, slots, q, k, v, [1] * len(slots)) | {"prefills": False}


def release(cache, slot):
    """Name what a guard asks of a call of `release`."""
    return _of_slot(cache, slot)


def fork(cache, src, dst):
    """Name what a guard asks of a call of `fork`."""
    return _of_slot(cache, dst) | {"source": src}


def after(function, result, args, kwargs):
    """Keep what a call did."""
    if function == "create_cache":
        _handles[id(result)] = _Handle(kwargs, len(_handles) + 1)
        return
    handle = _handles.get(id(args[0]))
    if handle is None:
        return
    handle.steps += 1
    if function in ("prefill", "decode"):
        _, layer, slots, *_, last = args
        lengths = last if function == "prefill" else [1] * len(slots)
        for slot, n in zip(slots, lengths, strict=False):
            place = (int(layer), int(slot))
            handle.held[place] = handle.held.get(place, 0) + int(n)
    elif function == "release":
        handle.released.add(int(args[1]))
        handle.held = {place: n for place, n in handle.held.items() if place[1] != args[1]}
    elif function == "fork":
        handle.forked = True
        kept = {place: n for place, n in handle.held.items() if place[1] != args[2]}
        handle.held = kept | {(layer, int(args[2])): n for (layer, slot), n in handle.held.items() if slot == args[1]}


def refused(function, args, kwargs):
    """Keep that a call was refused."""
    if args and id(args[0]) in _handles:
        _handles[id(args[0])].refused = True


def _sizes(given):
    return {
        "D": given["head_dim"], "heads": given["num_heads"], "kv_heads": given["num_kv_heads"],
        "layers": given["num_layers"], "max_batch": given["max_batch"], "max_length": given["max_length"],
        "dtype": given["dtype"], "window": given.get("window") or 0, "page_size": given.get("page_size") or 0,
        "bits": given.get("quantization") or "",
    }  # fmt: skip


def _state(handle):
    return {
        "handle": handle.number, "handles": len(_handles), "steps": handle.steps, "forked": handle.forked,
        "after_refusal": handle.refused, "reuse": bool(handle.released),
    }  # fmt: skip


def _of_slot(cache, slot):
    handle = _handles[id(cache)]
    held = [n for (_, other), n in handle.held.items() if other == slot]
    return _sizes(handle.given) | _state(handle) | {"slots": [int(slot)], "held": held or [0], "batch": 1}


def _call(cache, layer, slots, q, k, v, lengths):
    handle = _handles[id(cache)]
    slots, lengths = [int(s) for s in slots], [int(n) for n in lengths]
    held = [handle.held.get((int(layer), s), 0) for s in slots]
    return _sizes(handle.given) | _state(handle) | {
        "layer": int(layer), "slots": slots, "lengths": lengths, "held": held, "batch": len(slots), "S": q.shape[2],
        "total": max(h + n for h, n in zip(held, lengths, strict=True)), "ordered": slots == sorted(slots),
        "reused": any(s in handle.released for s in slots),
        "negative_zero": lambda: any((np.signbit(a) & (a == 0)).any() for a in (q, k, v)),
        "zero_query": lambda: bool((q == 0).all(axis=-1).any()),
        "equal_keys": lambda: k.shape[2] > 1 and bool((k[:, :, :-1] == k[:, :, 1:]).all(axis=-1).any()),
        "largest": lambda: float(np.nanmax(np.abs(q))),
    }  # fmt: skip
