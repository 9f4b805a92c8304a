"""Wrong caches, each the reference with one fault planted, under the criterion that must notice it."""

from harness.probing import Mutant

from .option_mutants import REAL
from .rare_mutants import RARE
from .refusal_mutants import REFUSALS

NEXT_PAGE = "            if index == len(table):\n"
WRITE = "                page[offset : offset + n] = part[done : done + n]\n"
READ = "        return [np.concatenate(part)[: self.lengths[slot]] for part in parts]\n"
GIVE_BACK = "        self.free.extend(self.tables[slot])\n"
ROW_BYTES = "        row = sum(part.itemsize * math.prod(part.shape[1:]) for part in self.blank)\n"
NEW_PAGE = "        return [np.empty((self.page_size, *part.shape[1:]), part.dtype) for part in self.blank]\n"
TAKE_PAGE = "                table.append(self.take_page())\n"
STORES = "    cache.stores = [Store(max_batch, page_size, blank) for _ in range(num_layers)]\n"
N = "        n = int(lengths[row])\n"
ROWS_OF_PREFILL = "    for row, slot in enumerate(slots):\n" + N
PREFILL = "        out[row, :, :n] = attend_slot(cache, store, slot, q[row, :, :n], k[row, :, :n], v[row, :, :n])\n"
KEEP_PROMPT = "        store.append(slot, to_rows(pair(k[row, :, :n], v[row, :, :n]), cache.bits))\n"
DECODE = "        out[row] = attend_slot(cache, store, slot, q[row], k[row], v[row])\n"
ROWS_OF_DECODE = "    for row, slot in enumerate(slots):\n" + DECODE
KEEP_STEP = "        store.append(slot, to_rows(pair(k[row], v[row]), cache.bits))\n"
RELEASE = "    for store in cache.stores:\n        store.release(slot)\n"
COPY_TO_FORK = "        rows = store.read(src)\n        store.release(dst)\n        store.append(dst, rows)\n"
PAST = "    past = from_rows(store.read(slot), cache.bits, cache.head_dim)\n"
BOTH = "    both = np.concatenate([past, pair(k, v)])\n"
ATTEND = "    return attend(q, both[:, 0], both[:, 1], len(past), cache.window)\n"
GROUPS = "    groups = q.reshape(k.shape[1], num_heads // k.shape[1], n, head_dim)\n"
SCORES = "    scores = (groups @ k.swapaxes(-1, -2)) * head_dim**-0.5\n"
HIDDEN = "    hidden = key > position\n"
WINDOW = "    if window is not None:\n"
OUT_OF_WINDOW = "        hidden |= key <= position - window\n"
MASK = "    np.copyto(scores, -np.inf, where=hidden)\n"
WEIGHTS = "    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
NORMALISE = "    weights /= weights.sum(axis=-1, keepdims=True)\n"
AVERAGE = "    return (weights @ v).reshape(q.shape)\n"
PLAIN = "        return [kv]\n"
SCALE = "    scale = np.abs(kv).max(axis=-1, keepdims=True) / top\n"
CODES = "    codes = np.rint(np.divide(kv, scale, out=np.zeros_like(kv), where=scale > 0)).astype(np.int8)\n"
ROOM = "        if store.lengths[slot] + n > cache.max_length:\n"
FULL = (
    '            raise ValueError(f"slot {slot} holds {store.lengths[slot]} of {cache.max_length} tokens: '
    'no room for {n}")\n'
)
PREFILL_OVER_PADDING = "        out[row, :, :n] = attend_slot(cache, store, slot, q[row, :, :n], k[row], v[row])\n"
WHOLE_HISTORY = """\
        past = from_rows(store.read(slot), cache.bits, cache.head_dim)
        both = np.concatenate([past, pair(k[row], v[row])])
"""
CHUNK_ALONE = """\
        chunk = pair(k[row, :, :n], v[row, :, :n])
        out[row, :, :n] = attend(q[row, :, :n], chunk[:, 0], chunk[:, 1], 0, cache.window)
"""


def _stored_as_decoded(top: int) -> tuple[tuple[str, str], ...]:
    """Store groups as they are where a decode fills them and codes reach up to `top`."""
    loop, whole = "        while len(rows):\n", "    if not top:\n        return group[0]\n"
    return (
        (loop, "        one = len(rows) == 1\n" + loop),
        ("code(self.last, self.top)", f"code(self.last, 0 if one and self.top == {top} else self.top)"),
        (whole, whole.replace("not top", "len(group) == 1")),
    )


READ_SLOT_0 = (
    (PREFILL, PREFILL.replace("store, slot", "store, 0")),
    (DECODE, DECODE.replace("store, slot", "store, 0")),
)


def _reserved(make: str, page: str) -> tuple[tuple[str, str], ...]:
    """Give every slot of a paged cache rows of its own from the start: they take memory once they are written."""
    reserve = (
        "    for store in cache.stores if page_size is not None else ():\n"
        f"        store.page_size = {page}\n"
        f"        shape = (max_batch, -(-max_length // {page}), {page})\n"
        f"        store.own = [{make}((*shape, *part.shape[1:]), part.dtype) for part in blank]\n"
    )
    take = "                own = self.__dict__.get('own')\n"
    take += "                table.append([part[slot, index] for part in own] if own else self.take_page())\n"
    return (TAKE_PAGE, take), (STORES, STORES + reserve)


MASKS = (
    Mutant(
        "no causal mask",
        "attends to future tokens",
        criterion="causality",
        edits=((HIDDEN, "    hidden = key > position + len(key)\n"),),
    ),
    Mutant(
        "mask of ones added",
        "adds a mask of ones to the scores, which hides nothing",
        criterion="causality",
        edits=((MASK, "    scores = scores + np.ones_like(scores)\n"),),
    ),
    Mutant(
        "one added where hidden",
        "adds 1 to the score of every future token instead of hiding it",
        criterion="causality",
        edits=((MASK, "    scores[..., hidden] += 1\n"),),
    ),
    Mutant(
        "hidden tokens lowered by ten",
        "lowers the score of a future token by 10 instead of hiding it",
        criterion="causality",
        edits=((MASK, "    scores[..., hidden] -= 10\n"),),
    ),
    Mutant(
        "hidden tokens lowered by 1e9",
        "lowers the score of a future token by 1e9, too little for some",
        criterion="extreme_logits",
        edits=((MASK, "    scores[..., hidden] -= 1e9\n"),),
    ),
    Mutant(
        "hidden tokens at -1e9",
        "gives future tokens the score -1e9, which other scores are below",
        criterion="extreme_logits",
        edits=((MASK, "    np.copyto(scores, -1e9, where=hidden)\n"),),
    ),
    Mutant(
        "inverted mask",
        "hides the past and attends to the future",
        criterion="causality",
        edits=((HIDDEN, "    hidden = key < position\n"),),
    ),
    Mutant(
        "mask one too far",
        "attends to the next token as well",
        criterion="causality",
        edits=((HIDDEN, "    hidden = key > position + 1\n"),),
    ),
    Mutant(
        "mask one too near",
        "hides a token from itself unless it is the first",
        criterion="prefill_then_decode",
        edits=((HIDDEN, "    hidden = key > np.maximum(position - 1, 0)\n"),),
    ),
    Mutant(
        "weights masked afterwards",
        "counts future tokens in the denominator",
        criterion="causality",
        edits=((MASK, ""), (NORMALISE, NORMALISE + "    weights = weights * ~hidden\n")),
    ),
)

SOFTMAX = (
    Mutant(
        "scale missing",
        "does not divide the scores by the square root of head_dim",
        criterion="prefill_then_decode",
        edits=((SCORES, "    scores = groups @ k.swapaxes(-1, -2)\n"),),
    ),
    Mutant(
        "scale without root",
        "divides the scores by head_dim instead of its square root",
        criterion="prefill_then_decode",
        edits=((SCORES, SCORES.replace("**-0.5", "**-1.0")),),
    ),
    Mutant(
        "powers of two",
        "raises 2 instead of e to the scores",
        criterion="prefill_then_decode",
        edits=((WEIGHTS, WEIGHTS.replace("np.exp(", "np.exp2(")),),
    ),
    Mutant(
        "keys and values swapped",
        "averages the keys instead of the values",
        criterion="first_token",
        edits=((AVERAGE, AVERAGE.replace("@ v", "@ k")),),
    ),
    Mutant(
        "denominator off by a millionth",
        "adds 1e-6 to the denominator",
        criterion="accuracy",
        edits=((NORMALISE, NORMALISE.replace("\n", " + 1e-6\n")),),
    ),
    Mutant(
        "one in the denominator",
        "adds 1 to the denominator",
        criterion="softmax_laws",
        edits=((NORMALISE, NORMALISE.replace("\n", " + 1\n")),),
    ),
    Mutant(
        "empty row attended",
        "attends to a row of zeros as well",
        criterion="softmax_laws",
        edits=(
            (BOTH, BOTH + "    both = np.concatenate([np.zeros_like(both[:1]), both])\n"),
            (ATTEND, ATTEND.replace("len(past)", "len(past) + 1")),
        ),
    ),
    Mutant(
        "distance penalty",
        "lowers the score of a token with its distance",
        criterion="softmax_laws",
        edits=((MASK, "    scores = scores - 0.05 * (position - key)\n" + MASK),),
    ),
    Mutant(
        "keys normalised",
        "scales every key to length one",
        criterion="softmax_laws",
        edits=(
            (
                SCORES,
                "    keys = k / np.linalg.norm(k, axis=-1, keepdims=True)\n"
                + SCORES.replace("k.swapaxes", "keys.swapaxes"),
            ),
        ),
    ),
    Mutant(
        "no maximum subtracted",
        "overflows where scores are large",
        criterion="extreme_logits",
        edits=((WEIGHTS, "    weights = np.exp(scores)\n"),),
    ),
    Mutant(
        "maximum starts at zero",
        "loses every weight where all scores are far below zero",
        criterion="extreme_logits",
        edits=(
            (
                WEIGHTS,
                WEIGHTS.replace("scores.max(axis=-1, keepdims=True)", "scores.max(axis=-1, keepdims=True, initial=0)"),
            ),
        ),
    ),
    Mutant(
        "scores clipped",
        "clips the scores to 50",
        criterion="extreme_logits",
        edits=((MASK, "    scores = np.clip(scores, -50, 50)\n" + MASK),),
    ),
    Mutant(
        "scores capped softly",
        "caps the scores with 30 tanh(score / 30)",
        criterion="extreme_logits",
        edits=((MASK, "    scores = 30 * np.tanh(scores / 30)\n" + MASK),),
    ),
)

HISTORY = (
    Mutant("prefill not stored", "forgets the prompt", criterion="prefill_stored", edits=((KEEP_PROMPT, ""),)),
    Mutant(
        "first prompt token dropped",
        "does not store the first token of a prompt",
        criterion="prefill_stored",
        edits=((KEEP_PROMPT, KEEP_PROMPT.replace(":n]", "1:n]")),),
    ),
    Mutant(
        "last prompt token dropped",
        "does not store the last token of a prompt",
        criterion="prefill_stored",
        edits=((KEEP_PROMPT, KEEP_PROMPT.replace(":n]", ":n - 1]")),),
    ),
    Mutant(
        "last block dropped",
        "reads only whole blocks of eight tokens",
        criterion="prefill_stored",
        edits=((READ, READ.replace("self.lengths[slot]", "self.lengths[slot] // 8 * 8")),),
    ),
    Mutant(
        "decode sees only key 0",
        "sees only the first token of the slot in a decode",
        criterion="prefill_stored",
        edits=(
            (DECODE, WHOLE_HISTORY + "        out[row] = attend(q[row], both[:, 0], both[:, 1], 0, cache.window)\n"),
        ),
    ),
    Mutant(
        "values one slot late",
        "pairs every stored key with the value before it",
        criterion="prefill_stored",
        edits=((PAST, PAST + "    past[1:, 1] = past[:-1, 1].copy()\n"),),
    ),
    Mutant(
        "decode sees only itself",
        "sees nothing but the new token in a decode",
        criterion="prefill_stored",
        edits=(
            (
                DECODE,
                "        both = pair(k[row], v[row])\n"
                "        out[row] = attend(q[row], both[:, 0], both[:, 1], 0, cache.window)\n",
            ),
        ),
    ),
    Mutant(
        "decode excludes itself",
        "leaves the new token out of its own decode",
        criterion="prefill_then_decode",
        edits=(
            (
                DECODE,
                WHOLE_HISTORY + "        both = past if len(past) else both\n"
                "        out[row] = attend(q[row], both[:, 0], both[:, 1], len(both) - 1, cache.window)\n",
            ),
        ),
    ),
    Mutant("decode not stored", "forgets every decoded token", criterion="decode_history", edits=((KEEP_STEP, ""),)),
    Mutant(
        "cache never grows",
        "keeps only the newest token after a decode",
        criterion="decode_history",
        edits=((KEEP_STEP, "        store.release(slot)\n" + KEEP_STEP),),
    ),
    Mutant(
        "write pointer stands still",
        "stores each decoded token over the one before it",
        criterion="decode_history",
        edits=((KEEP_STEP, "        store.lengths[slot] = max(store.lengths[slot] - 1, 0)\n" + KEEP_STEP),),
    ),
    Mutant(
        "window left on",
        "sees no more than the last eight tokens",
        criterion="decode_history",
        edits=((WINDOW, "    window = window or 8\n" + WINDOW),),
    ),
)

BATCHES = (
    Mutant(
        "one cache for all slots",
        "keeps the tokens of all slots together",
        criterion="batch_isolation",
        edits=(
            *READ_SLOT_0,
            (KEEP_PROMPT, KEEP_PROMPT.replace("append(slot", "append(0")),
            (KEEP_STEP, KEEP_STEP.replace("append(slot", "append(0")),
        ),
    ),
    Mutant(
        "one overwritten entry a layer",
        "keeps one entry a layer, which every row of every call overwrites",
        criterion="batch_isolation",
        edits=(
            *READ_SLOT_0,
            (KEEP_PROMPT, "        store.release(0)\n" + KEEP_PROMPT.replace("append(slot", "append(0")),
            (KEEP_STEP, "        store.release(0)\n" + KEEP_STEP.replace("append(slot", "append(0")),
        ),
    ),
    Mutant(
        "keys of row 0 for all rows",
        "decodes every row with the new key of the first",
        criterion="batch_isolation",
        edits=((DECODE, DECODE.replace("k[row]", "k[0]")),),
    ),
    Mutant(
        "lengths of row 0 for all rows",
        "takes every row to be as long as the first",
        criterion="ragged_lengths",
        edits=((N, N.replace("lengths[row]", "lengths[0]")),),
    ),
    Mutant(
        "padding stored",
        "stores padding as tokens",
        criterion="ragged_lengths",
        edits=((KEEP_PROMPT, KEEP_PROMPT.replace("[row, :, :n]", "[row]")),),
    ),
    Mutant(
        "padding stored as zeros",
        "counts padding in the length and stores zeros for it",
        criterion="ragged_lengths",
        edits=(
            (
                KEEP_PROMPT,
                KEEP_PROMPT + "        rest = np.zeros_like(pair(k[row, :, n:], v[row, :, n:]))\n"
                "        store.append(slot, to_rows(rest, cache.bits))\n",
            ),
        ),
    ),
    Mutant(
        "padding multiplied by zero",
        "lets a NaN in the padding reach real tokens",
        criterion="any_padding",
        edits=((PREFILL, PREFILL_OVER_PADDING),),
    ),
    Mutant(
        "padding taken to be on the left",
        "reads the last positions of a padded row instead of the first",
        criterion="ragged_lengths",
        edits=(
            (PREFILL, PREFILL.replace("k[row, :, :n], v[row, :, :n]", "k[row, :, -n:], v[row, :, -n:]")),
            (KEEP_PROMPT, KEEP_PROMPT.replace(":n]", "-n:]")),
        ),
    ),
    Mutant(
        "padding attended",
        "attends to padding",
        criterion="ragged_lengths",
        edits=((PREFILL, PREFILL_OVER_PADDING), (HIDDEN, "    hidden = (key > position) & (key < first + n)\n")),
    ),
    Mutant(
        "no mask of any kind",
        "attends to future tokens and to padding, and stores it",
        criterion="ragged_lengths",
        edits=(
            (PREFILL, PREFILL_OVER_PADDING),
            (HIDDEN, "    hidden = key > position + len(key)\n"),
            (KEEP_PROMPT, KEEP_PROMPT.replace("[row, :, :n]", "[row]")),
        ),
    ),
    Mutant(
        "history cut to the shortest",
        "reads no more of a slot than the shortest slot of the call holds",
        criterion="batch_isolation",
        edits=(
            (
                DECODE,
                WHOLE_HISTORY + "        shortest = min(store.lengths[other] for other in slots)\n"
                "        both = np.concatenate([past[:shortest], both[-1:]])\n"
                "        out[row] = attend(q[row], both[:, 0], both[:, 1], len(both) - 1, cache.window)\n",
            ),
        ),
    ),
    Mutant(
        "row b goes to slot b",
        "ignores which slots were named",
        criterion="slots",
        edits=(
            (ROWS_OF_PREFILL, ROWS_OF_PREFILL.replace("slots", "range(len(slots))")),
            (ROWS_OF_DECODE, ROWS_OF_DECODE.replace("slots", "range(len(slots))")),
        ),
    ),
    Mutant(
        "slots sorted",
        "serves the rows in the order of their slots",
        criterion="slots",
        edits=(
            (ROWS_OF_PREFILL, ROWS_OF_PREFILL.replace("slots", "sorted(slots)")),
            (ROWS_OF_DECODE, ROWS_OF_DECODE.replace("slots", "sorted(slots)")),
        ),
    ),
)

LIFE = (
    Mutant(
        "chunk mask without offset",
        "masks a later chunk as if it were the first",
        criterion="appended_prefill",
        edits=((ATTEND, ATTEND.replace("len(past)", "len(past) if q.shape[1] == 1 else 0")),),
    ),
    Mutant(
        "chunk without past",
        "attends within a chunk only",
        criterion="appended_prefill",
        edits=((PREFILL, CHUNK_ALONE),),
    ),
    Mutant(
        "ragged chunks behind the shortest",
        "attends from the chunks of a call to no more past than the slot that holds least has",
        criterion="appended_prefill",
        edits=(
            (
                PREFILL,
                "        past = from_rows(store.read(slot), cache.bits, cache.head_dim)[:least]\n"
                "        both = np.concatenate([past, pair(k[row, :, :n], v[row, :, :n])])\n"
                "        out[row, :, :n] = attend(q[row, :, :n], both[:, 0], both[:, 1], len(past), cache.window)\n",
            ),
            (ROWS_OF_PREFILL, "    least = min(store.lengths[slot] for slot in slots)\n" + ROWS_OF_PREFILL),
        ),
    ),
    Mutant(
        "the longest row's past for all rows",
        "lets the chunks of a call see as many tokens of their own as if each stood behind the longest past of them",
        criterion="appended_prefill",
        edits=(
            (
                PREFILL,
                "        past = from_rows(store.read(slot), cache.bits, cache.head_dim)\n"
                "        both = np.concatenate([past, pair(k[row, :, :n], v[row, :, :n])])\n"
                "        out[row, :, :n] = attend(q[row, :, :n], both[:, 0], both[:, 1], most, cache.window)\n",
            ),
            (ROWS_OF_PREFILL, "    most = max(store.lengths[slot] for slot in slots)\n" + ROWS_OF_PREFILL),
        ),
    ),
    Mutant(
        "chunk replaces the slot",
        "drops what the slot held when a chunk is appended",
        criterion="appended_prefill",
        edits=((KEEP_PROMPT, "        store.release(slot)\n" + KEEP_PROMPT),),
    ),
    Mutant(
        "layers share storage",
        "keeps the tokens of all layers together",
        criterion="layer_isolation",
        edits=((STORES, "    cache.stores = [Store(max_batch, page_size, blank)] * num_layers\n"),),
    ),
    Mutant(
        "release keeps the tokens", "leaves a released slot as it was", criterion="slot_reuse", edits=((RELEASE, ""),)
    ),
    Mutant(
        "release of one layer",
        "empties a released slot in the first layer only",
        criterion="slot_reuse",
        edits=((RELEASE, RELEASE.replace("cache.stores", "cache.stores[:1]")),),
    ),
    Mutant(
        "release of every slot",
        "empties all slots when one is released",
        criterion="slot_reuse",
        edits=(
            (
                RELEASE,
                "    for store in cache.stores:\n        for each in range(len(store.lengths)):\n"
                "            store.release(each)\n",
            ),
        ),
    ),
    Mutant(
        "nothing from an empty slot",
        "returns zeros for a decode on an empty slot",
        criterion="slot_reuse",
        edits=((KEEP_STEP, "        out[row] *= store.lengths[slot] > 0\n" + KEEP_STEP),),
    ),
    Mutant(
        "silent wrap",
        "overwrites the oldest tokens when a slot is full",
        criterion="capacity",
        edits=(
            (
                FULL,
                "            kept = [part[store.lengths[slot] + n - cache.max_length:] "
                "for part in store.read(slot)]\n"
                "            store.release(slot)\n            store.append(slot, kept)\n",
            ),
        ),
    ),
    Mutant(
        "silent drop",
        "stores nothing more once a slot is full, without an error",
        criterion="capacity",
        edits=(
            (FULL, "            continue\n"),
            (KEEP_PROMPT, "        if store.lengths[slot] + n <= cache.max_length:\n    " + KEEP_PROMPT),
            (KEEP_STEP, "        if store.lengths[slot] < cache.max_length:\n    " + KEEP_STEP),
        ),
    ),
    Mutant(
        "no capacity",
        "takes more than max_length tokens",
        criterion="capacity",
        edits=((FULL, "            continue\n"),),
    ),
    Mutant(
        "last place refused",
        "holds one token less than max_length",
        criterion="capacity",
        edits=((ROOM, ROOM.replace(">", ">=")),),
    ),
    Mutant(
        "half a call written",
        "stores the rows before the one that has no room",
        criterion="any_history",
        edits=(
            (FULL, "            continue\n"),
            (N, N + ROOM + '            raise ValueError("no room")\n'),
            (
                ROWS_OF_DECODE,
                ROWS_OF_DECODE.replace(
                    DECODE, "        n = 1\n" + ROOM + '            raise ValueError("no room")\n' + DECODE
                ),
            ),
        ),
    ),
    Mutant(
        "aliased output",
        "returns the same buffer from every decode",
        criterion="ownership",
        edits=((ROWS_OF_DECODE, '    out = cache.__dict__.setdefault(f"out {q.shape}", out)\n' + ROWS_OF_DECODE),),
    ),
    Mutant(
        "queries scaled and put back",
        "changes the queries of its caller, and puts them back",
        criterion="ownership",
        edits=(
            (
                SCORES,
                "    held = groups.copy()\n    groups *= head_dim**-0.5\n    scores = groups @ k.swapaxes(-1, -2)\n"
                "    groups[...] = held\n",
            ),
        ),
    ),
    Mutant(
        "queries scaled in place",
        "changes the queries of its caller",
        criterion="ownership",
        edits=((SCORES, "    groups *= head_dim**-0.5\n    scores = groups @ k.swapaxes(-1, -2)\n"),),
    ),
)

NUMBERS = (
    Mutant(
        "float16 store",
        "keeps keys and values in half precision",
        criterion="accuracy",
        edits=((PLAIN, "        return [kv.astype(np.float16)]\n"),),
    ),
    Mutant(
        "float32 store",
        "keeps float64 keys and values in single precision",
        criterion="accuracy",
        edits=((PLAIN, "        return [kv.astype(np.float32)]\n"),),
    ),
    Mutant(
        "float32 inside",
        "computes in single precision whatever it is given",
        criterion="accuracy",
        edits=((SCORES, "    groups, k, v = (array.astype(np.float32) for array in (groups, k, v))\n" + SCORES),),
    ),
    Mutant(
        "float64 out",
        "returns double precision whatever it is given",
        criterion="dtype",
        edits=(
            ("    return out\n\n\ndef decode(", "    return out.astype(np.float64)\n\n\ndef decode("),
            ("    return out\n\n\ndef release(", "    return out.astype(np.float64)\n\n\ndef release("),
        ),
    ),
    Mutant(
        "float64 out of codes",
        "returns double precision in a decode of int8 codes",
        criterion="dtype",
        edits=(
            (
                "    return out\n\n\ndef release(",
                "    return out.astype(np.float64) if cache.bits == 8 else out\n\n\ndef release(",
            ),
        ),
    ),
    Mutant(
        "last odd feature skipped",
        "leaves the last feature out of the scores when head_dim is odd",
        criterion="shapes",
        edits=(
            (
                SCORES,
                "    even = head_dim - head_dim % 2 or 1\n"
                + SCORES.replace("groups @ k.", "groups[..., :even] @ k[..., :even]."),
            ),
        ),
    ),
    Mutant(
        "single axes squeezed",
        "fails on a prompt of one token and on a single head",
        criterion="shapes",
        edits=((PREFILL, PREFILL.replace("q[row, :, :n]", "q[row, :, :n].squeeze()")),),
    ),
    Mutant(
        "repeated slot accepted",
        "takes a slot twice in a call",
        criterion="argument_errors",
        edits=(("    if len(set(map(int, slots))) != len(slots):\n", "    if len(slots) > max_batch:\n"),),
    ),
    Mutant(
        "negative slot accepted",
        "takes slot -1 for the last one",
        criterion="argument_errors",
        edits=(("is_integer(s) and 0 <= s < max_batch", "is_integer(s) and -max_batch <= s < max_batch"),),
    ),
    Mutant(
        "unknown option accepted",
        "takes any keyword and ignores it",
        criterion="argument_errors",
        edits=(("    if unsupported:\n", "    if None in unsupported:\n"),),
    ),
    Mutant(
        "decode recomputes everything",
        "computes the attention of all past tokens again in every decode",
        criterion="decode_cost",
        edits=(
            (
                DECODE,
                "        again = np.repeat(q[row], store.lengths[slot] + 1, axis=1)\n"
                "        out[row] = attend_slot(cache, store, slot, again, k[row], v[row])[:, :1]\n",
            ),
        ),
    ),
    Mutant(
        "reserved room copied by every decode",
        "copies all that max_length reserves in every decode",
        criterion="decode_cost",
        edits=(
            (
                STORES,
                STORES + "    for store in cache.stores:\n"
                "        store.room = np.zeros((max_batch, max_length, 2, num_kv_heads, head_dim), dtype)\n",
            ),
            (KEEP_STEP, "        store.room = store.room.copy()\n" + KEEP_STEP),
        ),
    ),
    Mutant(
        "four times for every feature",
        "computes the whole attention four times for every feature of a decode",
        criterion="decode_speed",
        edits=(
            (
                DECODE,
                "        for d in np.repeat(np.arange(cache.head_dim), 4):\n"
                "            again = attend_slot(cache, store, slot, q[row], k[row], v[row])\n"
                "            out[row, ..., d] = again[..., d]\n",
            ),
        ),
    ),
    Mutant(
        "float64 rows",
        "keeps float32 keys and values in eight bytes each",
        criterion="memory_growth",
        edits=((PLAIN, "        return [kv.astype(np.float64)]\n"),),
    ),
    Mutant(
        "tokens held twice",
        "keeps a second copy of every token",
        criterion="memory_growth",
        edits=(
            (
                WRITE,
                WRITE + "                copy = part[done : done + n].copy()\n"
                "                self.__dict__.setdefault('copies', []).append(copy)\n",
            ),
        ),
    ),
    Mutant(
        "keys and values counted twice",
        "reports twice the bytes it holds",
        criterion="memory_report",
        edits=((ROW_BYTES, ROW_BYTES.replace("sum(", "2 * sum(")),),
    ),
    Mutant(
        "only keys counted",
        "reports half the bytes it holds",
        criterion="memory_report",
        edits=((ROW_BYTES, ROW_BYTES.replace("\n", " // 2\n")),),
    ),
)

OPTIONS = (
    Mutant(
        "kv head by remainder",
        "pairs query head h with key head h mod H_kv",
        criterion="gqa",
        edits=(
            (
                GROUPS,
                GROUPS.replace("k.shape[1], num_heads // k.shape[1]", "num_heads // k.shape[1], k.shape[1]").replace(
                    "\n", ".swapaxes(0, 1)\n"
                ),
            ),
            (AVERAGE, AVERAGE.replace("(weights @ v)", "(weights @ v).swapaxes(0, 1)")),
        ),
    ),
    Mutant(
        "first kv head for all",
        "uses the first key head for every query head",
        criterion="gqa",
        edits=((GROUPS, "    if k.shape[1] < num_heads:\n        k, v = k[:, :1], v[:, :1]\n" + GROUPS),),
    ),
    Mutant(
        "window one too long",
        "sees one token more than the window",
        criterion="sliding_window",
        edits=((OUT_OF_WINDOW, OUT_OF_WINDOW.replace("<=", "<")),),
    ),
    Mutant(
        "window one too short",
        "sees one token less than the window",
        criterion="sliding_window",
        edits=((OUT_OF_WINDOW, OUT_OF_WINDOW.replace("- window", "- max(window - 1, 1)")),),
    ),
    Mutant(
        "window ignored",
        "takes a window and sees everything",
        criterion="sliding_window",
        edits=((OUT_OF_WINDOW, "        hidden |= key < 0\n"),),
    ),
    Mutant(
        "fork shares storage",
        "writes later tokens of a fork into the original",
        criterion="fork",
        edits=(
            (
                COPY_TO_FORK,
                "        store.release(dst)\n        store.tables[dst] = list(store.tables[src])\n"
                "        store.lengths[dst] = store.lengths[src]\n",
            ),
        ),
    ),
    Mutant(
        "fork's pages given back",
        "shares whole pages with a fork and hands them out again when one of the two is released",
        criterion="fork",
        edits=(
            (
                COPY_TO_FORK,
                "        if src == dst:\n            continue\n"
                "        rows, whole = store.read(src), store.lengths[src] // store.page_size\n"
                "        store.release(dst)\n        store.tables[dst] = store.tables[src][:whole]\n"
                "        store.lengths[dst] = whole * store.page_size\n"
                "        store.append(dst, [part[store.lengths[dst] :] for part in rows])\n",
            ),
        ),
    ),
    Mutant(
        "fork of one layer",
        "copies the first layer only",
        criterion="fork",
        edits=(
            (
                COPY_TO_FORK,
                COPY_TO_FORK.replace("(dst, rows)", "(dst, rows if store is cache.stores[0] else [])").replace(
                    "store.append", "if store is cache.stores[0]:\n            store.append"
                ),
            ),
        ),
    ),
    Mutant(
        "fork appends",
        "keeps what the target of a fork held before",
        criterion="fork",
        edits=((COPY_TO_FORK, COPY_TO_FORK.replace("        store.release(dst)\n", "")),),
    ),
    Mutant(
        "rest of the page attended",
        "decodes over the unwritten rest of the last page",
        criterion="paged",
        edits=(
            (
                DECODE,
                WHOLE_HISTORY + "        short = -len(both) % store.page_size if store.paged else 0\n"
                "        rest = np.zeros((short, *both.shape[1:]), both.dtype)\n"
                "        both = np.concatenate([both, rest])\n"
                "        out[row] = attend(q[row], both[:, 0], both[:, 1], len(both) - 1, cache.window)\n",
            ),
        ),
    ),
    Mutant(
        "whole pages read",
        "reads stale rows behind the last token of a page",
        criterion="paged",
        edits=(
            (READ, READ.replace("self.lengths[slot]", "None if self.paged else self.lengths[slot]")),
            (NEW_PAGE, NEW_PAGE.replace("np.empty", "np.zeros")),
        ),
    ),
    Mutant(
        "only page overwritten",
        "writes over its only page when that is full",
        criterion="paged",
        edits=((NEXT_PAGE, "            index = 0 if self.paged else index\n" + NEXT_PAGE),),
    ),
    Mutant(
        "second page fails",
        "fails when the first page is full",
        criterion="paged",
        edits=(
            (
                NEXT_PAGE,
                "            if self.paged and index > 0:\n"
                "                raise AssertionError('page is full')\n" + NEXT_PAGE,
            ),
        ),
    ),
    Mutant(
        "pages shared by layers",
        "keeps the pages of all layers as one layer's",
        criterion="paged",
        edits=(
            (
                STORES,
                STORES + "    if page_size is not None:\n        cache.stores = cache.stores[:1] * num_layers\n",
            ),
        ),
    ),
    Mutant(
        "pages leak",
        "never takes back the pages of a released slot",
        criterion="paged",
        edits=((GIVE_BACK, "        self.__dict__.setdefault('lost', []).extend(self.tables[slot])\n"),),
    ),
    Mutant(
        "pages returned twice",
        "gives a released page to two slots",
        criterion="paged",
        edits=((GIVE_BACK, GIVE_BACK + GIVE_BACK),),
    ),
    Mutant(
        "pages of a slot stay its own",
        "keeps what a slot released for that slot alone",
        criterion="paged",
        edits=(
            (GIVE_BACK, "        self.__dict__.setdefault('own', {}).setdefault(slot, []).extend(self.tables[slot])\n"),
            (
                TAKE_PAGE,
                "                own = self.__dict__.get('own', {}).get(slot)\n"
                "                table.append(own.pop() if own else self.take_page())\n",
            ),
        ),
    ),
    *(
        Mutant(name, fault, criterion="paged", edits=_reserved(make, page))
        for name, fault, make, page in (
            ("page size ignored", "holds max_length tokens of zeros for every slot", "np.zeros", "max_length"),
            ("page size ignored, nothing zeroed", "holds max_length tokens for every slot", "np.empty", "max_length"),
            ("pages never shared", "gives each slot its own pages of a pool as large as all", "np.zeros", "page_size"),
        )
    ),
    Mutant(
        "int8 wraps around",
        "wraps every code above 127 to a negative one",
        criterion="int8",
        edits=(
            ("    top = 2 ** (bits - 1) - 1\n", "    top = 2**bits - 1\n"),
            (CODES, CODES.replace(".astype(np.int8)", ".astype(np.int64).astype(np.int8)")),
        ),
    ),
    Mutant(
        "int8 one scale a call",
        "quantises keys and values of a call with one scale",
        criterion="int8",
        edits=((SCALE, "    scale = np.full_like(kv[..., :1], np.abs(kv).max(initial=0) / top)\n"),),
    ),
    Mutant(
        "int8 fixed scale",
        "clips what is above 1 when it quantises",
        criterion="int8",
        edits=(
            (SCALE, "    scale = np.full_like(kv[..., :1], 1 / top)\n"),
            (CODES, CODES.replace(").astype", ".clip(-top, top)).astype")),
        ),
    ),
    Mutant(
        "int8 not compressed",
        "accepts int8 and stores full precision",
        criterion="int8",
        edits=(('"int8": 8', '"int8": None'),),
    ),
    Mutant(
        "int8 of prompts alone",
        "stores a group of tokens in full precision at int8 where a decode brings its last one",
        criterion="int8",
        file="variants/coded_groups.py",
        edits=_stored_as_decoded(127),
    ),
    Mutant(
        "int4 of prompts alone",
        "stores a group of tokens in full precision at int4 where a decode brings its last one",
        criterion="int4",
        file="variants/coded_groups.py",
        edits=_stored_as_decoded(7),
    ),
    Mutant(
        "int4 halves swapped",
        "swaps neighbouring features when it unpacks int4",
        criterion="int4",
        edits=(("[packed & 15, packed >> 4]", "[packed >> 4, packed & 15]"),),
    ),
    Mutant(
        "int4 sign lost",
        "reads int4 codes as positive numbers",
        criterion="int4",
        edits=((".astype(np.int8) - np.int8(8)", ".astype(np.int8)"),),
    ),
    Mutant(
        "int4 not packed",
        "spends a byte on every int4 code",
        criterion="int4",
        edits=(
            ("codes if bits == 8 else pack(codes)", "codes"),
            ("rows[0] if bits == 8 else unpack(rows[0], head_dim)", "rows[0]"),
        ),
    ),
)

ALL_TOKENS = "        return row * (pages_in_use * self.page_size if self.paged else sum(self.lengths))\n"
SEEN_IN_ANSWERS = (
    Mutant(
        "lengths shared by layers",
        "keeps one length for all layers, which each of them advances over rows that begin as zeros",
        criterion="layer_isolation",
        edits=(
            (STORES, STORES + "    for store in cache.stores:\n        store.lengths = cache.stores[0].lengths\n"),
            (NEW_PAGE, NEW_PAGE.replace("np.empty", "np.zeros")),
            ("            if index == len(table):\n", "            while index >= len(table):\n"),
            (
                "        parts = zip(self.blank,",
                "        while len(self.tables[slot]) * self.page_size < self.lengths[slot]:\n"
                "            self.tables[slot].append(self.take_page())\n"
                "        parts = zip(self.blank,",
            ),
        ),
    ),
    Mutant(
        "memory of two sequences",
        "reports the bytes of two sequences, however many there are",
        criterion="memory_report",
        edits=((ALL_TOKENS, ALL_TOKENS.replace("sum(self.lengths)", "2 * max(self.lengths)")),),
    ),
    Mutant(
        "shared batch cache",
        "keeps one cache a layer for all sequences, which every prompt and step overwrites",
        criterion="batch_isolation",
        edits=(
            (PREFILL, CHUNK_ALONE),
            (DECODE, DECODE.replace("store, slot", "store, 0")),
            (KEEP_PROMPT, "        store.release(0)\n" + KEEP_PROMPT.replace("append(slot", "append(0")),
            (KEEP_STEP, "        store.release(0)\n" + KEEP_STEP.replace("append(slot", "append(0")),
        ),
    ),
    Mutant(
        "int8 codes of 0 to 255",
        "casts codes of 0 to 255 to int8, so that those above 127 come back negative",
        criterion="int8",
        edits=(
            (
                SCALE,
                "    low, high = kv.min(axis=-1, keepdims=True), kv.max(axis=-1, keepdims=True)\n"
                "    scale = np.maximum((high - low) / (2**bits - 1), 1e-8)\n",
            ),
            (CODES, "    codes = np.rint((kv - low) / scale).astype(np.int64).astype(np.int8)\n"),
            (
                "    return [codes if bits == 8 else pack(codes), scale]\n",
                "    return [codes if bits == 8 else pack(codes), scale, low]\n",
            ),
            ("    return codes * rows[1]\n", "    return codes * rows[1] + rows[2]\n"),
        ),
    ),
)

MUTANTS = MASKS + SOFTMAX + HISTORY + BATCHES + LIFE + NUMBERS + OPTIONS + SEEN_IN_ANSWERS + RARE + REAL + REFUSALS
