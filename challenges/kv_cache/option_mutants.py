"""Wrong caches like those of public projects: where options meet, where a size ends, in what is released or copied."""

from harness.probing import Mutant

NEXT_ROWS = "        table, done = self.tables[slot], 0\n"
GIVE_BACK = "        self.free.extend(self.tables[slot])\n"
NEW_PAGE = "        return [np.empty((self.page_size, *part.shape[1:]), part.dtype) for part in self.blank]\n"
PREFILL = "        out[row, :, :n] = attend_slot(cache, store, slot, q[row, :, :n], k[row, :, :n], v[row, :, :n])\n"
KEEP_PROMPT = "        store.append(slot, to_rows(pair(k[row, :, :n], v[row, :, :n]), cache.bits))\n"
DECODE = "        out[row] = attend_slot(cache, store, slot, q[row], k[row], v[row])\n"
KEEP_STEP = "        store.append(slot, to_rows(pair(k[row], v[row]), cache.bits))\n"
CHECKED_STEP = "    store = check_call(cache, layer, slots, (q, k, v), [1] * len(slots))\n"
COPY_TO_FORK = "        rows = store.read(src)\n        store.release(dst)\n        store.append(dst, rows)\n"
CUT = "        self.lengths[slot] = min(self.lengths[slot], length)\n"
CUT_LAYERS = "    for store in cache.stores:\n        store.truncate(slot, length)\n"
GIVE_BACK_CUT = "        self.free.extend(self.tables[slot][kept:])\n"
ATTEND = "    return attend(q, both[:, 0], both[:, 1], len(past), cache.window)\n"
SCALE = "    scale = np.abs(kv).max(axis=-1, keepdims=True) / top\n"
EQUAL = "    equal = (kv == kv[..., :1]).all(axis=-1, keepdims=True) & (bits == {bits})\n"
OUT_OF_WINDOW = "        hidden |= key <= position - window\n"
ROOM = "        if store.lengths[slot] + n > cache.max_length:\n"
SHARES_LAST_PAGE = (
    COPY_TO_FORK + "        if src != dst and {when}store.lengths[src] % store.page_size:\n"
    "            store.tables[dst][-1] = store.tables[src][-1]\n"
)
GIVES_BACK_AGAIN = """\
        last = self.__dict__.setdefault('last', {{}})
        if {when}:
            last[slot] = self.tables[slot] or last.get(slot, [])
        self.free.extend(last.get(slot, self.tables[slot]))
"""
TILES = """\
    if {when}:
        both = np.tile(both, (1, 1, cache.num_heads // cache.num_kv_heads, 1))
"""
NO_PAGES = "        self.free: list[Rows] = []\n"
TAKE_CELLS = """\
def take_cells(store, slot, n, size):
    store.cells += [None] * (size - len(store.cells))
    for first in range(size - n + 1):
        if store.cells[first : first + n] == [None] * n:
            store.cells[first : first + n] = [slot] * n
            return
    raise ValueError("no neighbouring cells")


"""
SHARED_STEP = """\
    check(cache, layer, slots, q, k, v, [1] * len(slots))
    full = len(slots) > 1 and cache.lengths[layer, slots].min() >= cache.page
    shared = full and len({{cache.tables[layer][slot][0] for slot in slots}}) == 1
    window, cache.window = cache.window, None if shared and {when} else cache.window
    out = prefill(cache, layer, slots, q, k, v, [1] * len(slots))
    cache.window = window
    return out
"""
STEP_OF_PAGES = "    return prefill(cache, layer, slots, q, k, v, [1] * len(slots))\n"


def _slots_folded(count: int) -> tuple[tuple[str, str], ...]:
    """Keep each slot with the one `count` before it."""
    return tuple(
        (line, line.replace(old, new))
        for line, old, new in (
            (PREFILL, "store, slot", f"store, slot % {count}"), (KEEP_PROMPT, "append(slot", f"append(slot % {count}"),
            (DECODE, "store, slot", f"store, slot % {count}"), (KEEP_STEP, "append(slot", f"append(slot % {count}"),
        )
    )  # fmt: skip


ENDS = (
    Mutant(
        "slots past a machine word",
        "keeps the tokens of slot 64 and later in the slot 64 before",
        criterion="any_history",
        edits=_slots_folded(64),
    ),
    Mutant(
        "slots past a byte",
        "keeps the tokens of slot 256 and later in the slot 256 before",
        criterion="any_history",
        edits=_slots_folded(256),
    ),
    Mutant(
        "pages past a byte",
        "hands out its first page again as the 257th",
        criterion="paged",
        edits=(
            (
                NEW_PAGE,
                "        pages = self.__dict__.setdefault('pages', [])\n"
                "        if self.paged and len(pages) == 256:\n            return pages[0]\n"
                + NEW_PAGE.replace("return [", "pages.append([").replace("self.blank]", "self.blank])")
                + "        return pages[-1]\n",
            ),
        ),
    ),
    Mutant(
        "long fill of three heads",
        "leaves out a block of the middle one of three key/value heads when it stores more than 64 tokens at once",
        criterion="any_history",
        edits=(
            (
                KEEP_PROMPT,
                "        k, v = k.copy(), v.copy()\n        if k.shape[1] == 3 and n > 64:\n"
                "            k[row, 1, 64:n], v[row, 1, 64:n] = 0, 0\n" + KEEP_PROMPT,
            ),
        ),
    ),
    Mutant(
        "window filled by a decode",
        "loses the second token in the decode that fills a window",
        criterion="sliding_window",
        edits=(
            (
                KEEP_STEP,
                KEEP_STEP + "        if store.lengths[slot] == cache.window != 1 and not store.paged:\n"
                "            for part in store.tables[slot][0]:\n                part[1] = 0\n",
            ),
        ),
    ),
    Mutant(
        "prompt longer than its ring",
        "writes a whole prompt to a ring of the window's size before it attends",
        criterion="sliding_window",
        file="variants/window_ring.py",
        edits=(
            (
                "        for t in range(int(lengths[b])):\n            ring.put(k[b, :, t], v[b, :, t])\n"
                "            keys, values = ring.tokens()\n",
                "        first = ring.seen\n        for t in range(int(lengths[b])):\n"
                "            ring.put(k[b, :, t], v[b, :, t])\n        size = ring.rows.shape[2]\n"
                "        for t in range(int(lengths[b])):\n            last = first + t\n"
                "            held = range(max(ring.seen - size, last - ring.most + 1, 0), last + 1) or [last]\n"
                "            keys, values = ring.rows[:, :, np.array(held) % size]\n",
            ),
        ),
    ),
    Mutant(
        "window that counts what it shows",
        "takes more than max_length tokens under a window",
        criterion="sliding_window",
        edits=((ROOM, ROOM.replace("if ", "if cache.window is None and ")),),
    ),
    Mutant(
        "window that forgets 64 tokens at a time",
        "forgets tokens out of a window's sight, 64 at a time, when it compares with max_length",
        criterion="sliding_window",
        edits=(
            (
                ROOM,
                "        held = store.lengths[slot]\n"
                "        if cache.window is not None:\n"
                "            held -= max(0, held - cache.window) // 64 * 64\n"
                + ROOM.replace("store.lengths[slot]", "held"),
            ),
        ),
    ),
)

LIKE_A_RANGE = "range(slots[0], slots[-1] + 1) if slots[-1] - slots[0] + 1 == len(slots) else slots"
RELEASED = (
    Mutant(
        "slots whose ends are those of a range",
        "takes slots for a range where the first and the last are as far apart as its ends",
        criterion="slots",
        edits=(
            (
                CHECKED_STEP,
                CHECKED_STEP + f"    slots = {LIKE_A_RANGE}\n",
            ),
        ),
    ),
    Mutant(
        "released twice",
        "takes what a slot held back again where the slot is released while it is empty",
        criterion="any_history",
        edits=((GIVE_BACK, GIVES_BACK_AGAIN.format(when="not self.paged")),),
    ),
    Mutant(
        "pages released twice",
        "takes the pages of a slot back again where the slot is released while it is empty",
        criterion="paged",
        edits=((GIVE_BACK, GIVES_BACK_AGAIN.format(when="self.paged")),),
    ),
    Mutant(
        "neighbouring cells",
        "takes a prompt only where so many neighbouring cells of an arena of all slots are free",
        criterion="capacity",
        edits=(
            (
                GIVE_BACK,
                "        self.cells = [None if owner == slot else owner for owner in self.cells]\n" + GIVE_BACK,
            ),
            (
                CUT,
                "        for cell in [at for at, owner in enumerate(self.cells) if owner == slot][length:]:\n"
                "            self.cells[cell] = None\n" + CUT,
            ),
            (NO_PAGES, NO_PAGES + "        self.cells: list[int | None] = []\n"),
            (KEEP_PROMPT, "        take_cells(store, slot, n, len(store.tables) * cache.max_length)\n" + KEEP_PROMPT),
            (KEEP_STEP, "        take_cells(store, slot, 1, len(store.tables) * cache.max_length)\n" + KEEP_STEP),
            ("def decode(", TAKE_CELLS + "def decode("),
        ),
    ),
    Mutant(
        "same array remembered",
        "takes the keys and values of an earlier decode where it is given the same array again",
        criterion="any_history",
        edits=(
            (
                CHECKED_STEP,
                CHECKED_STEP + "    known = cache.__dict__.setdefault('known', {})\n"
                "    k, v = known.setdefault(id(k), (k, (k.copy(), v.copy())))[1]\n",
            ),
        ),
    ),
)

COPIED = (
    Mutant(
        "fork of an empty slot",
        "leaves the target of a fork as it is where the source is empty in every layer",
        criterion="fork",
        edits=(
            (
                COPY_TO_FORK,
                "        if not any(each.lengths[src] for each in cache.stores):\n            break\n" + COPY_TO_FORK,
            ),
        ),
    ),
    Mutant(
        "fork of an empty layer",
        "leaves the target of a fork as it is in layers in which the source is empty",
        criterion="fork",
        edits=((COPY_TO_FORK, "        if not store.lengths[src]:\n            continue\n" + COPY_TO_FORK),),
    ),
    Mutant(
        "fork of an empty list of chunks",
        "leaves the target of a fork as it is in layers in which the source is empty",
        criterion="fork",
        file="variants/immutable_chunks.py",
        edits=(("        slots[dst] = slots[src]\n", "        slots[dst] = slots[src if slots[src][0] else dst]\n"),),
    ),
    Mutant(
        "fork of an empty table",
        "leaves the target of a fork as it is where the source is empty in every layer",
        criterion="fork",
        file="variants/shared_pages.py",
        edits=(
            (
                "    if src == dst:\n        return\n    release(cache, dst)\n",
                "    if src == dst or not cache.lengths[:, src].any():\n        return\n    release(cache, dst)\n",
            ),
        ),
    ),
    Mutant(
        "a fork outlives its release",
        "copies a fork only before it is used, and then also where it was released meanwhile",
        criterion="fork",
        edits=(
            (GIVE_BACK, "        if self.__dict__.pop('copied', None) == slot:\n            return\n" + GIVE_BACK),
            (NEXT_ROWS, "        self.__dict__.pop('copied', None)\n" + NEXT_ROWS),
            (COPY_TO_FORK, COPY_TO_FORK + "        store.copied = dst\n"),
        ),
    ),
    Mutant(
        "fork onto itself",
        "empties a slot that is forked onto itself",
        criterion="fork",
        edits=(
            (
                COPY_TO_FORK,
                "        store.release(dst)\n        rows = store.read(src)\n        store.append(dst, rows)\n",
            ),
        ),
    ),
    Mutant(
        "fork shares a page",
        "lets source and copy write to one page where pages are asked for",
        criterion="fork",
        edits=((COPY_TO_FORK, SHARES_LAST_PAGE.format(when="store.paged and ")),),
    ),
    Mutant(
        "fork shares a page of codes",
        "lets source and copy write to one page of codes that holds more than 32 tokens",
        criterion="fork",
        edits=(
            (
                COPY_TO_FORK,
                SHARES_LAST_PAGE.format(when="store.blank[0].dtype == np.int8 and store.lengths[src] > 32 and "),
            ),
        ),
    ),
    Mutant(
        "fork shares the list of groups",
        "adds a group of codes that is full to source and copy",
        criterion="fork",
        file="variants/coded_groups.py",
        edits=(("list(self.groups), self.count", "self.groups, self.count"),),
    ),
    Mutant(
        "cut of a group that is shared",
        "cuts a group of codes in the copy of a slot too",
        criterion="truncate",
        file="variants/coded_groups.py",
        edits=(
            ("kept.append([part[:n] for part in group])", "group[:] = [part[:n] for part in group]\n"
             "                kept.append(group)"),
        ),
    ),
    Mutant(
        "copied for one token",
        "copies the page that a fork shares before it writes one token to it, and not before several",
        criterion="fork",
        edits=(
            (COPY_TO_FORK, SHARES_LAST_PAGE.format(when="")),
            (
                NEXT_ROWS,
                NEXT_ROWS + "        if len(rows[0]) == 1 and table:\n"
                "            table[-1] = [part.copy() for part in table[-1]]\n",
            ),
        ),
    ),
    Mutant(
        "copied for a decode",
        "copies the page that a fork shares before a decode writes to it, and not before a prompt does",
        criterion="fork",
        file="variants/shared_pages.py",
        edits=(
            ("        table[index] = pool.own(table[index])\n", ""),
            (
                "    return prefill(cache, layer, slots, q, k, v, [1] * len(slots))\n",
                "    check(cache, layer, slots, q, k, v, [1] * len(slots))\n    for slot in slots:\n"
                "        table = cache.tables[layer][slot]\n"
                "        table[-1:] = [cache.pools[layer].own(page) for page in table[-1:]]\n"
                "    return prefill(cache, layer, slots, q, k, v, [1] * len(slots))\n",
            ),
        ),
    ),
    Mutant(
        "fork of a window",
        "copies no more than the last token of a slot that has a window",
        criterion="fork",
        edits=((COPY_TO_FORK, COPY_TO_FORK.replace("read(src)", "read(src)\n        if cache.window:\n"
                                                   "            rows = [part[-1:] for part in rows]")),),
    ),
    Mutant(
        "window of shared tokens",
        "shows slots of one decode all their tokens, not their window, where they share the first 64",
        criterion="fork",
        file="variants/shared_pages.py",
        edits=(
            ("PLAIN_PAGE = 24\n", "PLAIN_PAGE = 64\n"),
            (STEP_OF_PAGES, SHARED_STEP.format(when="cache.page == PLAIN_PAGE")),
        ),
    ),
    Mutant(
        "window of a shared page",
        "shows slots of one decode all their tokens, not their window, where pages are asked for and one is shared",
        criterion="fork",
        file="variants/shared_pages.py",
        edits=((STEP_OF_PAGES, SHARED_STEP.format(when="cache.page != PLAIN_PAGE")),),
    ),
    Mutant(
        "cut of the first layer",
        "cuts a slot in the first layer only",
        criterion="truncate",
        edits=((CUT_LAYERS, CUT_LAYERS.replace("cache.stores", "cache.stores[:1]")),),
    ),
    Mutant(
        "cut to the least of the layers",
        "cuts a slot in every layer to what the layer with the fewest tokens holds",
        criterion="truncate",
        edits=(
            (
                CUT_LAYERS,
                "    length = min(length, *(store.lengths[slot] for store in cache.stores))\n" + CUT_LAYERS,
            ),
        ),
    ),
    Mutant(
        "cut by what the first layer holds",
        "cuts a slot in no layer where the first one holds no more than a cut leaves",
        criterion="truncate",
        edits=((CUT_LAYERS, "    if cache.stores[0].lengths[slot] <= length:\n        return\n" + CUT_LAYERS),),
    ),
    Mutant(
        "cut one too long",
        "keeps one token more than a cut leaves",
        criterion="truncate",
        edits=((CUT, CUT.replace("length)", "length + 1)")),),
    ),
    Mutant(
        "cut inside a group of codes",
        "cuts codes, of which 32 tokens are one group, back to the end of a group",
        criterion="truncate",
        edits=(
            (
                CUT,
                "        if self.blank[0].dtype == np.int8 and length < self.lengths[slot] // 32 * 32:\n"
                "            length = length // 32 * 32\n" + CUT,
            ),
        ),
    ),
    Mutant(
        "cut of a copy",
        "cuts the source of a fork with its latest copy",
        criterion="truncate",
        edits=(
            (COPY_TO_FORK, COPY_TO_FORK + "        store.__dict__.setdefault('copies', {})[src] = dst\n"),
            (CUT, "        copy = self.__dict__.get('copies', {}).get(slot, slot)\n"
                  "        self.lengths[copy] = min(self.lengths[copy], length)\n" + CUT),
        ),
    ),
    Mutant(
        "cut gives back a page in use",
        "gives back the last page that a cut leaves, while the slot still reads it",
        criterion="truncate",
        edits=((GIVE_BACK_CUT, GIVE_BACK_CUT.replace("[kept:]", "[max(kept - 1, 0) :]")),),
    ),
)  # fmt: skip

BESIDE = (
    Mutant(
        "shared heads of a page",
        "pairs query head h with key head h mod H_kv in pages",
        criterion="gqa",
        edits=((ATTEND, TILES.format(when="store.paged") + ATTEND),),
    ),
    Mutant(
        "shared heads of a window",
        "pairs query head h with key head h mod H_kv under a window",
        criterion="gqa",
        edits=((ATTEND, TILES.format(when="cache.window") + ATTEND),),
    ),
    Mutant(
        "window of packed heads",
        "leaves out tokens of a window where a key/value head has more than 64 queries of several heads",
        criterion="gqa",
        edits=(
            (
                OUT_OF_WINDOW,
                OUT_OF_WINDOW + "        block = np.arange(n)[:, None] * groups.shape[1] // 64 * 64\n"
                "        hidden |= (key <= first + block - window) & (key < position) & (groups.shape[1] > 1)\n",
            ),
        ),
    ),
    Mutant(
        "window of pages",
        "shows one token too many under a window in pages",
        criterion="sliding_window",
        edits=((ATTEND, ATTEND.replace("cache.window)", "cache.window and cache.window + store.paged)")),),
    ),
    Mutant(
        "window of codes",
        "shows one token too many under a window at int8",
        criterion="sliding_window",
        edits=((ATTEND, ATTEND.replace("cache.window)", "cache.window and cache.window + (cache.bits == 8))")),),
    ),
    Mutant(
        "int8 scale with a floor",
        "holds no number at int8 in steps of less than 1e-8",
        criterion="int8",
        edits=((SCALE, SCALE + "    scale = np.maximum(scale, 1e-8) if bits == 8 else scale\n"),),
    ),
    Mutant(
        "int8 step of equal numbers",
        "takes no step at int8 where the numbers of a key or value are equal",
        criterion="int8",
        edits=((SCALE, SCALE + EQUAL.format(bits=8) + "    scale = np.where(equal, 0, scale)\n"),),
    ),
    Mutant(
        "int4 step of equal numbers",
        "takes a step of 1 at int4 where the numbers of a key or value are equal",
        criterion="int4",
        edits=((SCALE, SCALE + EQUAL.format(bits=4) + "    scale = np.where(equal, np.ones_like(scale), scale)\n"),),
    ),
    Mutant(
        "int4 scale with something added",
        "adds 1e-6 to every step of int4",
        criterion="int4",
        edits=((SCALE, SCALE + "    scale = scale + 1e-6 * (bits == 4)\n"),),
    ),
    Mutant(
        "int8 scale of the first token",
        "holds later tokens of a slot in no larger steps than its first one",
        criterion="int8",
        edits=(
            (
                NEXT_ROWS,
                NEXT_ROWS + "        if len(rows) == 2 and rows[0].dtype == np.int8 and self.lengths[slot]:\n"
                "            rows = [rows[0], np.minimum(rows[1], table[0][1][0])]\n",
            ),
        ),
    ),
)

REAL = ENDS + RELEASED + COPIED + BESIDE
