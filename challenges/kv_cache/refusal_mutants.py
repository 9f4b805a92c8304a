"""Wrong caches that are right until a call is refused: it is applied in part, or something is lost by it."""

from harness.probing import Mutant

STORES = "    cache.stores = [Store(max_batch, page_size, blank) for _ in range(num_layers)]\n"
CHECKED = "    check_slots(cache, slots)\n    longest"
IS_LAYER = "    if not (is_integer(layer) and 0 <= layer < len(cache.stores)):\n"
LENGTHS_FIT = "    if not all(is_integer(n) and 1 <= n <= longest for n in lengths):\n"
SAME_LENGTH = "    if np.ndim(lengths) != 1 or len(lengths) != len(slots):\n"
ARRAYS_FIT = "    longest = check_arrays(cache, len(slots), qkv)\n"
ROOM = "        if store.lengths[slot] + n > cache.max_length:\n"
ONE_TOKEN = "    if np.ndim(q) != 4 or np.shape(q)[2] != 1:\n"
UNSUPPORTED = "    if unsupported:\n"
RELEASE_CHECKS = "    check_slots(cache, [slot])\n"
FORK_CHECKS = "    check_slots(cache, [src])\n    check_slots(cache, [dst])\n"
SCORES = "    scores = (groups @ k.swapaxes(-1, -2)) * head_dim**-0.5\n"
MADE = "        self.made += 1\n"
COPY_TO_FORK = "        rows = store.read(src)\n        store.release(dst)\n        store.append(dst, rows)\n"

WRITE_ROWS = """\
def write_rows(cache, store, slots, qkv, lengths):
    for row, (slot, n) in enumerate(zip(slots, lengths)):
        new = pair(qkv[1][row, :, :n], qkv[2][row, :, :n])
        store.append(slot, to_rows(new, cache.bits))


def check_call("""


def _writing(*edits: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    """Edits that may call `write_rows`, which stores the rows of a call."""
    return (("def check_call(", WRITE_ROWS), *edits)


def _at_no_room(doing: str, when: str = "True") -> tuple[str, str]:
    """An edit that does something before the error of a call that does not fit.

    There are the call's `slots`, `lengths` and `qkv`, and the `slot` without room for `n`.
    """
    return ROOM, f"{ROOM}            if {when}:\n                {doing}\n"


UNFIT = (
    Mutant(
        "first row of a refused prompt stored",
        "stores the first row of a prompt of which a later one has no room",
        criterion="any_history",
        edits=_writing(
            _at_no_room("write_rows(cache, store, slots[:1], qkv, lengths[:1])", "slots[0] != slot and longest > 1")
        ),
    ),
    Mutant(
        "rows of a refused decode stored",
        "stores the rows of a decode before the one whose slot is full",
        criterion="any_history",
        edits=_writing(
            _at_no_room("write_rows(cache, store, slots[:list(slots).index(slot)], qkv, lengths)", "longest == 1")
        ),
    ),
    Mutant(
        "rows behind the full one stored",
        "stores the rows behind the one that has no room",
        criterion="any_history",
        edits=_writing(
            _at_no_room(
                "at = list(slots).index(slot) + 1; "
                "write_rows(cache, store, slots[at:], [a[at:] for a in qkv], lengths[at:])",
                "store.lengths[slot] == cache.max_length",
            )
        ),
    ),
    Mutant(
        "refused call stored in the first layer",
        "stores the rows before the one that has no room in the first layer",
        criterion="any_history",
        edits=_writing(
            _at_no_room(
                "write_rows(cache, store, slots[:list(slots).index(slot)], qkv, lengths)", "store is cache.stores[0]"
            )
        ),
    ),
    Mutant(
        "refused call stored in a later layer",
        "stores the rows before the one that has no room in every layer but the first",
        criterion="any_history",
        edits=_writing(
            _at_no_room(
                "write_rows(cache, store, slots[:list(slots).index(slot)], qkv, lengths)",
                "store is not cache.stores[0]",
            )
        ),
    ),
    Mutant(
        "what fits of a refused chunk stored",
        "stores as many tokens of a prompt as fit, and then refuses it, where the slot holds some already",
        criterion="any_history",
        edits=_writing(
            _at_no_room(
                "at = list(slots).index(slot); left = cache.max_length - store.lengths[slot]; "
                "write_rows(cache, store, [slot], [a[at:] for a in qkv], [left])",
                "store.lengths[slot]",
            )
        ),
    ),
    Mutant(
        "what fits of a first prompt stored",
        "stores as many tokens of a prompt as fit, and then refuses it, where the slot is empty",
        criterion="any_history",
        edits=_writing(
            _at_no_room(
                "at = list(slots).index(slot); "
                "write_rows(cache, store, [slot], [a[at:] for a in qkv], [cache.max_length])",
                "not store.lengths[slot]",
            )
        ),
    ),
    Mutant(
        "length of a refused row advanced",
        "counts the tokens of a row before the one that has no room, and writes none",
        criterion="any_history",
        edits=(
            _at_no_room(
                "store.lengths[slots[0]] += min(int(lengths[0]), store.page_size - store.lengths[slots[0]] % "
                "store.page_size - 1)",
                "slots[0] != slot and store.lengths[slots[0]]",
            ),
        ),
    ),
    Mutant(
        "values of a refused row written",
        "writes the first value of a row before the one that has no room over the slot's last one",
        criterion="any_history",
        edits=(
            _at_no_room(
                "at = store.lengths[slots[0]] - 1; "
                "store.tables[slots[0]][at // store.page_size][0][at % store.page_size, 1] = qkv[2][0, :, 0]",
                "slots[0] != slot and store.lengths[slots[0]] and cache.bits is None",
            ),
        ),
    ),
    Mutant(
        "oldest token dropped by a refused call",
        "drops the oldest tokens of a full slot to make room, and refuses the call all the same",
        criterion="any_history",
        edits=(
            _at_no_room(
                "kept = [part[n:] for part in store.read(slot)]; store.release(slot); store.append(slot, kept)",
                "store.lengths[slot] == cache.max_length",
            ),
        ),
    ),
    Mutant(
        "slot without room emptied",
        "empties a slot, in every layer, when a prompt for it is too long",
        criterion="any_history",
        edits=(
            _at_no_room(
                "[each.release(slot) for each in cache.stores]",
                "store.lengths[slot] < cache.max_length and len(slots) == 1",
            ),
        ),
    ),
    Mutant(
        "empty slot begun by a refused call",
        "begins empty slots with a token of zeros when another row has no room",
        criterion="any_history",
        edits=_writing(
            _at_no_room(
                "[write_rows(cache, store, [s], [0 * a for a in qkv], [1]) for s in slots if not store.lengths[s]]",
            )
        ),
    ),
)

WRONG = (
    Mutant(
        "layer too far stored in the last",
        "stores a call for a layer that does not exist in the last one, and then refuses it",
        criterion="any_history",
        edits=_writing(
            (
                IS_LAYER,
                "    if layer == len(cache.stores):\n"
                "        write_rows(cache, cache.stores[-1], slots, qkv, lengths)\n" + IS_LAYER,
            )
        ),
    ),
    Mutant(
        "negative layer stored from the end",
        "stores the first row of a call for layer -1 in the last layer, and then refuses it",
        criterion="any_history",
        edits=_writing(
            (
                IS_LAYER,
                "    if layer == -1:\n        write_rows(cache, cache.stores[-1], slots[:1], qkv, lengths)\n"
                + IS_LAYER,
            )
        ),
    ),
    Mutant(
        "rows before a slot too far stored",
        "stores the rows before one whose slot does not exist",
        criterion="any_history",
        edits=_writing(
            (
                CHECKED,
                "    max_batch = len(cache.stores[0].lengths)\n"
                "    if max(slots) >= max_batch:\n"
                "        write_rows(cache, cache.stores[layer], [s for s in slots if s < max_batch], qkv, lengths)\n"
                + CHECKED,
            )
        ),
    ),
    Mutant(
        "negative slot emptied",
        "empties the last slot of the layer when slot -1 is named, and then refuses the call",
        criterion="any_history",
        edits=((CHECKED, "    if min(slots) < 0:\n        cache.stores[layer].release(min(slots))\n" + CHECKED),),
    ),
    Mutant(
        "slot stored until it is named again",
        "stores the rows of a call before it finds a slot that is named twice",
        criterion="any_history",
        edits=_writing(
            (
                CHECKED,
                "    if len(set(map(int, slots))) == len(slots) - 1:\n"
                "        write_rows(cache, cache.stores[layer], slots[:-1], qkv, lengths)\n" + CHECKED,
            )
        ),
    ),
    Mutant(
        "rows before a length of zero stored",
        "stores the rows before one whose length is 0",
        criterion="any_history",
        edits=_writing(
            (
                LENGTHS_FIT,
                "    if 0 in list(lengths):\n"
                "        write_rows(cache, cache.stores[layer], slots[: list(lengths).index(0)], qkv, lengths)\n"
                + LENGTHS_FIT,
            )
        ),
    ),
    Mutant(
        "rows before a length too long stored",
        "stores the rows before one that is longer than the array",
        criterion="any_history",
        edits=_writing(
            (
                LENGTHS_FIT,
                "    if max(lengths) > longest:\n"
                "        write_rows(cache, cache.stores[layer], slots[:1], qkv, lengths)\n" + LENGTHS_FIT,
            )
        ),
    ),
    Mutant(
        "row without a length refused late",
        "stores the rows that have a length before it finds one that has none",
        criterion="any_history",
        edits=_writing(
            (
                SAME_LENGTH,
                "    if 0 < len(lengths) < len(slots):\n"
                "        write_rows(cache, cache.stores[layer], slots, qkv, lengths)\n" + SAME_LENGTH,
            )
        ),
    ),
    Mutant(
        "slots emptied by arrays that do not fit",
        "empties the slots of a call whose arrays have a wrong shape or dtype",
        criterion="any_history",
        edits=(
            (
                ARRAYS_FIT,
                "    try:\n        check_arrays(cache, len(slots), qkv)\n"
                "    except ValueError:\n        [cache.stores[layer].release(slot) for slot in slots]\n" + ARRAYS_FIT,
            ),
        ),
    ),
    Mutant(
        "decode of several tokens stored",
        "stores the first of several tokens a slot, and then refuses the decode",
        criterion="any_history",
        edits=_writing(
            (
                ONE_TOKEN,
                "    if np.ndim(q) == 4 and np.shape(q)[2] > 1:\n"
                "        write_rows(cache, cache.stores[layer], slots, (q, k, v), [1] * len(slots))\n" + ONE_TOKEN,
            )
        ),
    ),
    Mutant(
        "release too far empties the last slot",
        "empties the last slot when one beyond it is released, and then refuses the call",
        criterion="any_history",
        edits=(
            (
                RELEASE_CHECKS,
                "    last = len(cache.stores[0].lengths) - 1\n    if slot > last:\n"
                "        cache.stores[0].release(last)\n" + RELEASE_CHECKS,
            ),
        ),
    ),
    Mutant(
        "scale of a cache that was refused",
        "divides the scores by the square root of head_dim of the cache that was asked for last, made or not",
        criterion="any_history",
        edits=(
            (UNSUPPORTED, "    global ASKED\n    ASKED = head_dim\n" + UNSUPPORTED),
            (SCORES, SCORES.replace("head_dim**-0.5", "ASKED**-0.5")),
        ),
    ),
)

OFFERED = (
    Mutant(
        "refused call under a window stored",
        "stores the rows before the one that has no room in a cache with a window",
        criterion="sliding_window",
        edits=_writing(
            _at_no_room(
                "write_rows(cache, store, slots[:list(slots).index(slot)], qkv, lengths)", "cache.window is not None"
            )
        ),
    ),
    Mutant(
        "window moved by a refused prompt",
        "forgets the oldest token in the window of a slot that a prompt is too long for",
        criterion="sliding_window",
        edits=(
            _at_no_room(
                "kept = [part[1 - cache.window :] if cache.window > 2 else part[:0] for part in store.read(slot)]; "
                "kept = [np.concatenate([part[:1] * 0, part[1:]]) for part in kept]; "
                "store.release(slot); store.append(slot, kept)",
                "cache.window is not None and store.lengths[slot] < cache.max_length",
            ),
        ),
    ),
    Mutant(
        "pages of a refused prompt kept",
        "takes the pages of a prompt that has no room from a pool of as many as the slots need, and loses them",
        criterion="paged",
        edits=(
            _at_no_room("[store.take_page() for _ in range(0, int(n), store.page_size)]", "store.paged"),
            (
                STORES,
                STORES + "    for store in cache.stores:\n"
                "        store.most = -(-max_length // store.page_size) * max_batch\n",
            ),
            (
                MADE,
                "        if self.paged and self.made == self.most:\n            raise ValueError('no page is left')\n"
                + MADE,
            ),
        ),
    ),
    Mutant(
        "refused prompts leak pages",
        "never uses the pages again that it took for a call that has no room",
        criterion="paged",
        edits=(
            _at_no_room(
                "store.__dict__.setdefault('lost', []).extend("
                "[part * 0 + 1 for part in store.take_page()] for _ in range(0, int(n), store.page_size))",
                "store.paged",
            ),
        ),
    ),
    Mutant(
        "last page given back by a refused call",
        "gives the last page of a slot back when a call for it has no room, in a paged cache",
        criterion="paged",
        edits=(
            _at_no_room(
                "store.free.append(store.tables[slot][-1])", "store.paged and 0 < store.lengths[slot] and n > 1"
            ),
        ),
    ),
    Mutant(
        "refused fork empties its target",
        "empties the slot that a fork would fill before it finds that the source does not exist",
        criterion="fork",
        edits=(
            (
                FORK_CHECKS,
                "    check_slots(cache, [dst])\n    if src >= len(cache.stores[0].lengths):\n"
                "        release(cache, dst)\n" + FORK_CHECKS,
            ),
        ),
    ),
    Mutant(
        "refused call written to the original",
        "stores the rows before the one that has no room, for a slot that was forked in the other one",
        criterion="fork",
        edits=_writing(
            (COPY_TO_FORK, COPY_TO_FORK + "        store.__dict__.setdefault('source', {})[dst] = src\n"),
            _at_no_room(
                "copied = store.__dict__.get('source', {}); at = list(slots).index(slot); "
                "[write_rows(cache, store, [copied[s]], [a[i:] for a in qkv], [1]) "
                "for i, s in enumerate(slots[:at]) if s in copied]",
            ),
        ),
    ),
    Mutant(
        "int8 scale of a refused call",
        "doubles the scale of the last token of a slot that a call is refused for, at int8",
        criterion="int8",
        edits=(
            _at_no_room(
                "at = store.lengths[slots[0]] - 1; "
                "store.tables[slots[0]][at // store.page_size][1][at % store.page_size] *= 2",
                "cache.bits == 8 and store.lengths[slots[0]]",
            ),
        ),
    ),
    Mutant(
        "int4 codes of a refused call",
        "stores the rows before the one that has no room at int4",
        criterion="int4",
        edits=_writing(
            _at_no_room("write_rows(cache, store, slots[:list(slots).index(slot)], qkv, lengths)", "cache.bits == 4")
        ),
    ),
)

REFUSALS = UNFIT + WRONG + OFFERED
