"""Right caches that work differently: no probe may object to any of them."""

from harness.probing import Variant

FREE_PAGE = "            return self.free.pop()\n"
NEW_PAGE = "        return [np.empty((self.page_size, *part.shape[1:]), part.dtype) for part in self.blank]\n"
STORES = "    cache.stores = [Store(max_batch, page_size, blank) for _ in range(num_layers)]\n"
PREFILL_OUT = (
    "    out = np.zeros(q.shape, q.dtype)\n    for row, slot in enumerate(slots):\n        n = int(lengths[row])\n"
)
BOTH = "    both = np.concatenate([past, pair(k, v)])\n"
GROUPS = "    groups = q.reshape(k.shape[1], num_heads // k.shape[1], n, head_dim)\n"
SCORES = "    scores = (groups @ k.swapaxes(-1, -2)) * head_dim**-0.5\n"
MASK = "    np.copyto(scores, -np.inf, where=hidden)\n"
WEIGHTS = "    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
NORMALISE = "    weights /= weights.sum(axis=-1, keepdims=True)\n"
AVERAGE = "    return (weights @ v).reshape(q.shape)\n"
SCALE = "    scale = np.abs(kv).max(axis=-1, keepdims=True) / top\n"
CODES = "    codes = np.rint(np.divide(kv, scale, out=np.zeros_like(kv), where=scale > 0)).astype(np.int8)\n"

VARIANTS = (
    Variant(
        "token lists",
        "a list of single tokens per slot, attention by head and query, NaN at padding, no options",
        file="variants/token_lists.py",
    ),
    Variant(
        "six axes",
        "everything in one array reserved at max_length, the batch attended at once",
        file="variants/six_axes.py",
    ),
    Variant(
        "blockwise softmax",
        "keys as columns in doubling buffers, a running maximum and sum over blocks of keys",
        file="variants/blockwise_softmax.py",
    ),
    Variant(
        "immutable chunks",
        "chunks joined when read and shared by forks, weights normalised in the exponent",
        file="variants/immutable_chunks.py",
    ),
    Variant(
        "shared pages",
        "pages with a count of users, copied by the slot that writes; a running softmax from page to page",
        file="variants/shared_pages.py",
    ),
    Variant(
        "token pool",
        "one growing table of token rows for all layers and slots, gathered by lists of row numbers",
        file="variants/token_pool.py",
    ),
    Variant(
        "sequential sums",
        "sums every score, denominator and output one term at a time in the precision given",
        file="variants/sequential_sums.py",
    ),
    Variant(
        "window ring",
        "rings that a prompt passes through token by token",
        file="variants/window_ring.py",
    ),
    Variant(
        "merged parts",
        "attends to the past and to the call apart and merges them by their log-sum-exp; a plain dict as handle",
        file="variants/merged_parts.py",
    ),
    Variant(
        "whole steps",
        "computes every slot of the cache in every call and throws away those not named",
        file="variants/whole_steps.py",
        unmet=("memory_growth",),
    ),
    Variant(
        "coded groups",
        "holds tokens as given until 32 are together, codes those as one group, and shares groups between copies",
        file="variants/coded_groups.py",
        unmet=("decode_speed",),
        capabilities={"gqa": True, "quantized": ("int8", "int4"), "fork": True, "truncate": True},
    ),
    Variant(
        "pages in turn",
        "a pool of all pages that there can be, of which the one released longest ago is taken",
        edits=(
            (FREE_PAGE, FREE_PAGE.replace("pop()", "pop(0)")),
            (
                STORES,
                STORES + "    for store in cache.stores if page_size is not None else ():\n"
                "        store.made = max_batch * -(-max_length // page_size)\n"
                "        pool = [np.zeros((store.made, page_size, *part.shape[1:]), part.dtype) for part in blank]\n"
                "        store.free = [list(page) for page in zip(*pool)]\n",
            ),
        ),
    ),
    Variant(
        "pages of zeros",
        "clears each page when it makes it",
        edits=((NEW_PAGE, NEW_PAGE.replace("np.empty", "np.zeros")),),
    ),
    Variant("pages of one token", "a page for every token of an unpaged cache", edits=(("PAGE = 64\n", "PAGE = 1\n"),)),
    Variant(
        "pages of seven tokens",
        "odd pages, counted whole as held in an unpaged cache too",
        edits=(
            ("PAGE = 64\n", "PAGE = 7\n"),
            (
                "row * (pages_in_use * self.page_size if self.paged else sum(self.lengths))",
                "row * pages_in_use * self.page_size",
            ),
        ),
    ),
    Variant(
        "finite mask",
        "gives hidden tokens the most negative number instead of minus infinity",
        edits=((MASK, "    np.copyto(scores, np.finfo(scores.dtype).min, where=hidden)\n"),),
    ),
    Variant(
        "large scores in fewer digits",
        "rounds scores over 100 to multiples of a billionth",
        edits=(
            (
                SCORES,
                SCORES + "    scores = np.where(np.abs(scores) > 100, np.rint(scores * 2**30) / 2**30, scores)\n",
            ),
        ),
    ),
    *(
        Variant(
            f"claims pages of {page}", "takes its tokens in pages of the size it claims", capabilities={
                "gqa": True, "paged": {"page_size": page}, "quantized": ("int8", "int4"), "sliding_window": True,
                "fork": True, "truncate": True,
            },
        )
        for page in (1, 2, 3)
    ),
    Variant(
        "multiplied mask",
        "zeroes hidden weights after the exponential, before they are summed",
        edits=(
            (MASK, "    top = np.where(hidden, -np.inf, scores).max(axis=-1, keepdims=True)\n"),
            (WEIGHTS, "    weights = np.exp(np.minimum(scores - top, 0)) * ~hidden\n"),
        ),
    ),
    Variant(
        "normalised last",
        "divides the weighted sum instead of the weights",
        edits=(
            (NORMALISE, ""),
            (
                AVERAGE,
                "    total = weights.sum(axis=-1, keepdims=True)\n"
                "    return ((weights @ v) / total).reshape(q.shape)\n",
            ),
        ),
    ),
    Variant(
        "scaled on both sides",
        "multiplies queries and keys by the fourth root before the product",
        edits=((SCORES, "    scores = (groups * head_dim**-0.25) @ (k.swapaxes(-1, -2) * head_dim**-0.25)\n"),),
    ),
    Variant(
        "powers of two with log2 e",
        "raises 2 to the scores times log2 e",
        edits=(
            (WEIGHTS, "    weights = np.exp2((scores - scores.max(axis=-1, keepdims=True)) * math.log2(math.e))\n"),
        ),
    ),
    Variant(
        "einsum",
        "contracts with einsum instead of matrix products",
        edits=(
            (
                SCORES,
                "    scores = np.einsum('agid,agjd->agij', groups, np.broadcast_to(k, groups.shape[:2] + "
                "k.shape[2:])) * head_dim**-0.5\n",
            ),
            (
                AVERAGE,
                "    v = np.broadcast_to(v, groups.shape[:2] + v.shape[2:])\n"
                "    return np.einsum('agij,agjd->agid', weights, v).reshape(q.shape)\n",
            ),
        ),
    ),
    Variant(
        "newest first",
        "sums over the tokens from the newest to the oldest",
        edits=(
            (
                AVERAGE,
                "    backwards = weights[..., ::-1].copy() @ v[..., ::-1, :].copy()\n"
                "    return backwards.reshape(q.shape)\n",
            ),
        ),
    ),
    Variant(
        "float64 inside",
        "computes in double precision, stores and returns what it was given",
        edits=(
            (GROUPS, "    k, v = k.astype(np.float64), v.astype(np.float64)\n" + GROUPS),
            (SCORES, "    groups = groups.astype(np.float64)\n" + SCORES),
        ),
    ),
    Variant(
        "prefill in two halves",
        "appends a prompt as two chunks",
        edits=(
            (
                PREFILL_OUT,
                "    longest = int(max(lengths))\n"
                "    if longest > 1 and min(lengths) * 2 > longest:\n"
                "        half, rest = longest // 2, np.array(lengths) - longest // 2\n"
                "        early = prefill(cache, layer, slots, q[:, :, :half], k[:, :, :half], "
                "v[:, :, :half], [half] * len(slots))\n"
                "        late = prefill(cache, layer, slots, q[:, :, half:], k[:, :, half:], "
                "v[:, :, half:], rest)\n"
                "        return np.concatenate([early, late], axis=2)\n" + PREFILL_OUT,
            ),
        ),
    ),
    Variant(
        "codes attended",
        "quantises new tokens before it attends to them, not only to store them",
        edits=(
            (
                BOTH,
                "    new = from_rows(to_rows(pair(k, v), cache.bits), cache.bits, cache.head_dim)\n"
                "    both = np.concatenate([past, new])\n",
            ),
        ),
    ),
    Variant(
        "affine codes",
        "quantises between the smallest and the largest number of a token's head",
        edits=(
            (
                SCALE,
                "    low, high = kv.min(axis=-1, keepdims=True), kv.max(axis=-1, keepdims=True)\n"
                "    scale, middle = (high - low) / (2 * top), (high + low) / 2\n",
            ),
            (CODES, CODES.replace("np.divide(kv,", "np.divide(kv - middle,")),
            (
                "    return [codes if bits == 8 else pack(codes), scale]\n",
                "    return [codes if bits == 8 else pack(codes), scale, middle]\n",
            ),
            ("    return codes * rows[1]\n", "    return codes * rows[1] + rows[2]\n"),
        ),
    ),
)
