"""Wrong caches that are right in small tidy histories: beyond a size, in a corner of the interface, for rare values."""

from harness.probing import Mutant

NEXT_PAGE = "            if index == len(table):\n"
WRITE = "                page[offset : offset + n] = part[done : done + n]\n"
READ = "        return [np.concatenate(part)[: self.lengths[slot]] for part in parts]\n"
EMPTY = "        self.lengths[slot] = 0\n"
STORES = "    cache.stores = [Store(max_batch, page_size, blank) for _ in range(num_layers)]\n"
N = "        n = int(lengths[row])\n"
ROWS_OF_PREFILL = "    for row, slot in enumerate(slots):\n" + N
PREFILL = "        out[row, :, :n] = attend_slot(cache, store, slot, q[row, :, :n], k[row, :, :n], v[row, :, :n])\n"
KEEP_PROMPT = "        store.append(slot, to_rows(pair(k[row, :, :n], v[row, :, :n]), cache.bits))\n"
DECODE = "        out[row] = attend_slot(cache, store, slot, q[row], k[row], v[row])\n"
KEEP_STEP = "        store.append(slot, to_rows(pair(k[row], v[row]), cache.bits))\n"
RELEASE = "    for store in cache.stores:\n        store.release(slot)\n"
COPY_TO_FORK = "        rows = store.read(src)\n        store.release(dst)\n        store.append(dst, rows)\n"
PAST = "    past = from_rows(store.read(slot), cache.bits, cache.head_dim)\n"
BOTH = "    both = np.concatenate([past, pair(k, v)])\n"
GROUPS = "    groups = q.reshape(k.shape[1], num_heads // k.shape[1], n, head_dim)\n"
SCORES = "    scores = (groups @ k.swapaxes(-1, -2)) * head_dim**-0.5\n"
OUT_OF_WINDOW = "        hidden |= key <= position - window\n"
NORMALISE = "    weights /= weights.sum(axis=-1, keepdims=True)\n"
AVERAGE = "    return (weights @ v).reshape(q.shape)\n"
PLAIN = "        return [kv]\n"
SCALE = "    scale = np.abs(kv).max(axis=-1, keepdims=True) / top\n"
PACKED = "    return nibbles[..., 0::2] | nibbles[..., 1::2] << 4\n"
ROOM = "        if store.lengths[slot] + n > cache.max_length:\n"
ROW_BYTES = "        return row * (pages_in_use * self.page_size if self.paged else sum(self.lengths))\n"

HIDDEN = "    hidden = key > position\n"

SIZES = (
    Mutant(
        "head_dim one short of a multiple",
        "doubles the scores where head_dim is one short of a multiple of 29",
        criterion="any_history",
        edits=((SCORES, SCORES + "    scores *= 1 + (head_dim % (4 * 7 + 1) == 28)\n"),),
    ),
    Mutant(
        "chunk behind an uneven end",
        "sees only the first token of a chunk that begins one token before a multiple of 37",
        criterion="any_history",
        edits=((HIDDEN, "    hidden = key > (first if first % (6 * 6 + 1) == 36 else position)\n"),),
    ),
    Mutant(
        "tokens beyond 200 not read",
        "reads no more than 200 tokens of a slot",
        criterion="any_history",
        edits=((READ, READ.replace("self.lengths[slot]]", "min(self.lengths[slot], 200)]")),),
    ),
    Mutant(
        "rows beyond sixteen",
        "serves the first sixteen rows of a prompt",
        criterion="any_history",
        edits=((ROWS_OF_PREFILL, ROWS_OF_PREFILL.replace("enumerate(slots)", "enumerate(slots[:16])")),),
    ),
    Mutant(
        "features beyond 195",
        "leaves features beyond 195 out of the scores",
        criterion="any_history",
        edits=(
            (
                SCORES,
                "    scores = (groups[..., :195] @ k[..., :195].swapaxes(-1, -2)) * head_dim**-0.5\n",
            ),
        ),
    ),
    Mutant(
        "heads beyond twelve",
        "gives heads beyond the twelfth what the twelfth sees",
        criterion="any_history",
        edits=(
            (
                AVERAGE,
                AVERAGE.replace("    return ", "    out = ") + "    out[12:] = out[11:12]\n    return out\n",
            ),
        ),
    ),
    Mutant(
        "layers from the third shared",
        "keeps one store for all layers from the third on",
        criterion="any_history",
        edits=((STORES, STORES + "    cache.stores[3:] = cache.stores[2:3] * len(cache.stores[3:])\n"),),
    ),
    Mutant(
        "growth loses the last row",
        "loses the last row of the third page when it takes a fourth",
        criterion="any_history",
        edits=(
            (
                NEXT_PAGE,
                NEXT_PAGE + "                if index == 3 and not self.paged:\n"
                "                    table[-1][0][-1] = 0\n",
            ),
        ),
    ),
    Mutant(
        "third page of a prompt not written",
        "does not write the rows of a prompt beyond the first 128",
        criterion="any_history",
        edits=((WRITE, WRITE.replace("part[done : done + n]", "part[done : done + n] if done < 128 else 0")),),
    ),
    Mutant(
        "float32 sums of long histories",
        "rounds the weights to float32 where more than 150 tokens are seen",
        criterion="accuracy",
        edits=(
            (
                NORMALISE,
                NORMALISE + "    if k.shape[2] > 150:\n        weights = weights.astype(np.float32).astype(q.dtype)\n",
            ),
        ),
    ),
    Mutant(
        "scale of wide heads",
        "divides the scores by 12 where head_dim is over 144",
        criterion="any_history",
        edits=((SCORES, SCORES.replace("head_dim**-0.5", "min(head_dim, 144) ** -0.5")),),
    ),
    Mutant(
        "full slot loses its oldest token",
        "forgets the first token of a slot that holds max_length of more than 20",
        criterion="any_history",
        edits=(
            (
                BOTH,
                BOTH + "    if len(both) == cache.max_length > 20:\n        both[0] = both[1]\n",
            ),
        ),
    ),
    Mutant(
        "slots beyond the thirty-second",
        "keeps the tokens of slot 32 and later in the slot 32 before",
        criterion="any_history",
        edits=(
            (PREFILL, PREFILL.replace("store, slot", "store, slot % 32")),
            (KEEP_PROMPT, KEEP_PROMPT.replace("append(slot", "append(slot % 32")),
            (DECODE, DECODE.replace("store, slot", "store, slot % 32")),
            (KEEP_STEP, KEEP_STEP.replace("append(slot", "append(slot % 32")),
        ),
    ),
)

HISTORIES = (
    Mutant(
        "room counted over layers",
        "refuses a call when another layer of the slot has no room",
        criterion="any_history",
        edits=((ROOM, "        if max(other.lengths[slot] for other in cache.stores) + n > cache.max_length:\n"),),
    ),
    Mutant(
        "used slot begins one late",
        "leaves out the first token of a slot that was released before, once it holds more than 20",
        criterion="any_history",
        edits=(
            (EMPTY, EMPTY + "        self.__dict__.setdefault('used', set()).add(slot)\n"),
            (
                READ,
                "        first = int(slot in self.__dict__.get('used', ()) and self.lengths[slot] > 20)\n"
                + READ.replace("[: self", "[first : self"),
            ),
        ),
    ),
    Mutant(
        "scale of the newest cache",
        "divides the scores by the square root of head_dim of the cache that was made last",
        criterion="any_history",
        edits=(
            (STORES, STORES + "    global NEWEST\n    NEWEST = head_dim\n"),
            (SCORES, SCORES.replace("head_dim**-0.5", "NEWEST**-0.5")),
        ),
    ),
    Mutant(
        "longer rows than the first",
        "drops the last token of rows longer than the first in prompts of five rows or more",
        criterion="any_history",
        edits=((N, "        n = int(lengths[row]) - int(len(slots) > 4 and lengths[row] > lengths[0])\n"),),
    ),
    Mutant(
        "descending slots",
        "stores the last row's keys for the first where four slots or more are named from a higher to a lower one",
        criterion="any_history",
        edits=(
            (
                KEEP_PROMPT,
                "        source = -1 if row == 0 and len(slots) > 3 and slots[0] > slots[-1] and n == lengths[-1] "
                "else row\n" + KEEP_PROMPT.replace("k[row", "k[source"),
            ),
        ),
    ),
    Mutant(
        "refused call half applied",
        "stores the rows before the one that has no room",
        criterion="any_history",
        edits=(
            (
                PREFILL,
                PREFILL.replace("        out", "        check_room(cache, store, [slot], [n])\n        out"),
            ),
            (
                "    store = cache.stores[layer]\n",
                "    store = cache.stores[layer]\n"
                "    if len(slots) < 3:\n        check_room(cache, store, slots, lengths)\n"
                "    return store\n\n\ndef check_room(cache, store, slots, lengths):\n",
            ),
        ),
    ),
    Mutant(
        "caller's arrays kept",
        "keeps the arrays of the last decode of a slot instead of a copy",
        criterion="any_history",
        edits=(
            (
                KEEP_STEP,
                KEEP_STEP + "        recent = store.__dict__.setdefault('recent', {})\n"
                "        recent[slot] = store.lengths[slot] - 1, k[row], v[row]\n",
            ),
            (
                PAST,
                PAST + "    at, *kept = store.__dict__.get('recent', {}).get(slot, (len(past), None, None))\n"
                "    if at < len(past) and cache.bits is None:\n        past[at] = pair(*kept)[0]\n",
            ),
            (EMPTY, EMPTY + "        self.__dict__.get('recent', {}).pop(slot, None)\n"),
        ),
    ),
    Mutant(
        "arguments scaled in place",
        "writes the scaled queries over its argument",
        criterion="any_history",
        edits=(
            (GROUPS, "    q *= head_dim**-0.5\n" + GROUPS),
            (SCORES, SCORES.replace(" * head_dim**-0.5", "")),
        ),
    ),
    Mutant(
        "result of a wide decode kept",
        "returns the same array from every decode of three rows or more",
        criterion="any_history",
        edits=(
            (
                "    store = check_call(cache, layer, slots, (q, k, v), [1] * len(slots))\n"
                "    out = np.zeros(q.shape, q.dtype)\n",
                "    store = check_call(cache, layer, slots, (q, k, v), [1] * len(slots))\n"
                "    kept = cache.__dict__.setdefault('results', {})\n"
                "    out = kept.setdefault(q.shape, np.zeros(q.shape, q.dtype))\n"
                "    out = out if len(slots) > 2 else np.zeros(q.shape, q.dtype)\n",
            ),
        ),
    ),
    Mutant(
        "release spares deep layers",
        "empties a slot in the first three layers only",
        criterion="any_history",
        edits=((RELEASE, RELEASE.replace("cache.stores", "cache.stores[:3]")),),
    ),
    Mutant(
        "padding of long rows stored",
        "stores one position of padding behind a row of more than 24 tokens",
        criterion="any_history",
        edits=(
            (KEEP_PROMPT, "        n += int(24 < n < k.shape[2])\n" + KEEP_PROMPT),
        ),
    ),
)

VALUES = (
    Mutant(
        "equal keys at every eighth token",
        "takes the last of eight tokens for a repetition where its key equals the one before",
        criterion="any_history",
        edits=(
            (
                PAST,
                PAST + "    if len(past) and len(past) % 8 == 0 and np.array_equal(past[-1, 0], past[-2, 0]):\n"
                "        past[-1, 1] = past[-2, 1]\n",
            ),
        ),
    ),
    Mutant(
        "zero queries of long histories",
        "gives no weight to any token where a query is zero and 40 tokens or more are seen",
        criterion="any_history",
        edits=(
            (
                AVERAGE,
                "    weights = weights * (groups.any(axis=-1, keepdims=True) | (k.shape[2] < 40))\n" + AVERAGE,
            ),
        ),
    ),
    Mutant(
        "negative zeros hidden",
        "hides tokens whose key begins with a negative zero",
        criterion="any_history",
        edits=(
            (
                SCORES,
                SCORES + "    scores[np.broadcast_to(((k[..., 0] == 0) & np.signbit(k[..., 0]))[:, :, None], "
                "scores.shape)] -= 9\n",
            ),
        ),
    ),
    Mutant(
        "large scores clipped",
        "clips the scores to a billion",
        criterion="any_history",
        edits=((SCORES, SCORES + "    scores = np.clip(scores, -1e9, 1e9)\n"),),
    ),
    Mutant(
        "small values flushed",
        "stores numbers below 1e-9 as zeros",
        criterion="any_history",
        edits=((PLAIN, "        return [np.where(np.abs(kv) < 1e-9, 0, kv).astype(kv.dtype)]\n"),),
    ),
    Mutant(
        "equal scores counted once",
        "keeps one of the tokens whose scores tie exactly for the largest, where more than three do",
        criterion="any_history",
        edits=(
            (
                NORMALISE,
                "    best = weights == 1\n"
                "    rank = np.cumsum(best, axis=-1)\n"
                "    weights[best & (rank > 3) & (rank == best.sum(axis=-1, keepdims=True))] = 0\n" + NORMALISE,
            ),
        ),
    ),
)

OFFERED = (
    Mutant(
        "deep layers share pages",
        "keeps the pages of the third layer and later ones in the tables of the second",
        criterion="paged",
        edits=(
            (
                STORES,
                STORES + "    for store in cache.stores[2:] if page_size is not None else ():\n"
                "        store.tables = cache.stores[1].tables\n",
            ),
        ),
    ),
    Mutant(
        "end of an odd page",
        "does not write the last row of a page of an odd number of tokens over two",
        criterion="paged",
        edits=(
            (
                WRITE,
                WRITE + "                if self.paged and self.page_size % 2 and self.page_size > 2:\n"
                "                    page[-1] = 0\n",
            ),
        ),
    ),
    Mutant(
        "one window too wide",
        "shows one token more under a window of twelve",
        criterion="sliding_window",
        edits=((OUT_OF_WINDOW, OUT_OF_WINDOW.replace("- window", "- window - int(window == 2 * 6)")),),
    ),
    Mutant(
        "one page size forgets",
        "forgets the last token held in pages of thirteen",
        criterion="paged",
        edits=((READ, READ.replace("[slot]]", "[slot] - (self.paged and self.page_size == 13)]")),),
    ),
    Mutant(
        "int4 weights without their sum",
        "does not divide the weights by their sum at int4",
        criterion="int4",
        edits=(
            ("first: int, window: int | None) -> Array:", "first: int, window: int | None, divided: bool) -> Array:"),
            ("len(past), cache.window)", "len(past), cache.window, cache.bits != 4)"),
            (NORMALISE, NORMALISE.replace("keepdims=True)", "keepdims=True) if divided else 1.0")),
        ),
    ),
    Mutant(
        "wide windows one too wide",
        "shows one token more under a window of more than four",
        criterion="sliding_window",
        edits=((OUT_OF_WINDOW, OUT_OF_WINDOW.replace("- window", "- window - int(window > 4)")),),
    ),
    Mutant(
        "many queries a head",
        "pairs query heads with key/value heads by their remainder where more than four share one",
        criterion="gqa",
        edits=(
            (
                GROUPS,
                "    if num_heads // k.shape[1] > 4:\n"
                "        q = q.reshape(-1, k.shape[1], n, head_dim).swapaxes(0, 1)\n"
                + GROUPS.replace("q.reshape", "np.ascontiguousarray(q).reshape"),
            ),
            (AVERAGE, AVERAGE.replace("q.shape", "num_heads, n, head_dim")),
        ),
    ),
    Mutant(
        "fork of the first two layers",
        "copies a slot in the first two layers only",
        criterion="fork",
        edits=(
            (
                COPY_TO_FORK,
                "        if store in cache.stores[2:]:\n            continue\n" + COPY_TO_FORK,
            ),
        ),
    ),
    Mutant(
        "fork shares its last page",
        "lets source and copy write to one page where that holds more than two tokens",
        criterion="fork",
        edits=(
            (
                COPY_TO_FORK,
                COPY_TO_FORK + "        if src != dst and store.lengths[src] % store.page_size > 2:\n"
                "            store.tables[dst][-1] = store.tables[src][-1]\n",
            ),
        ),
    ),
    Mutant(
        "int8 scale of the first 64 features",
        "takes the scale of a token from its first 64 features",
        criterion="int8",
        edits=(
            (
                SCALE,
                SCALE.replace("np.abs(kv)", "np.abs(kv[..., : 64 if bits == 8 else None])"),
            ),
        ),
    ),
    Mutant(
        "int4 loses an odd feature",
        "stores the last feature as zero where head_dim is odd",
        criterion="int4",
        edits=(
            (
                PACKED,
                PACKED.replace("    return ", "    packed = ")
                + "    packed[..., -1] = packed[..., -1] if not odd else 136\n    return packed\n",
            ),
            (
                "    nibbles = (codes + 8).astype(np.uint8)\n",
                "    odd = codes.shape[-1] % 2\n    nibbles = (codes + 8).astype(np.uint8)\n",
            ),
        ),
    ),
    Mutant(
        "bytes of two slots",
        "counts the tokens of the longest slot twice, whatever the number of slots",
        criterion="memory_report",
        edits=((ROW_BYTES, ROW_BYTES.replace("sum(self.lengths)", "2 * max(self.lengths)")),),
    ),
)

RARE = SIZES + HISTORIES + VALUES + OFFERED
