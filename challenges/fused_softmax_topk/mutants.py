"""Wrong kernels, each the reference with one fault planted, under the criterion that must notice it."""

from harness.probing import Mutant

from .mutants_scratch import UNWRITTEN
from .mutants_sizes import SIZES

RESCALE = "        partial.sum *= expf(partial.max - logit);\n"
RAISE = f"    if (logit > partial.max) {{\n{RESCALE}        partial.max = logit;\n    }}\n"
START = "    Partial partial = {-FLT_MAX, 0.0f};  // finite"
MERGE = "    both.sum = a.sum * expf(a.max - both.max) + b.sum * expf(b.max - both.max);\n"
ADD_ONE = "        add(partial, logit);\n"
NEAR_PEAK = "    if (!(fmaxf(fmaxf(logits.x, logits.y), fmaxf(logits.z, logits.w)) < peak - 15.5f))\n"
PEAK = "    const float peak = logit_of(pool.keys[0]);\n    __syncthreads();\n"
OF_VECTOR = "take_vector(float4 logits, int column, Pool& pool, uint32_t floor, "
CALL_OF_VECTOR = "take_vector(now, head + vector * VECTOR, pool, floor, partial)"
FIRST_SORT = "    uint32_t floor = keep_best(pool, k);\n"
ADD_FOUR = "    add(partial, logits);\n"
LEADER = "    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;\n"
WARPS = "    for (int warp = 1; warp < WARPS; ++warp) total = merge(total, of_warp[warp]);\n"
AFTER_LEADERS = "    __syncthreads();\n    Partial total = of_warp[0];\n"
OFFER = "    if (rank_of(logit) <= floor) return -1;\n"
TAKE_PLACE = "    const int place = atomicAdd(&pool.count, 1);\n"
POOL = "    Key keys[CAPACITY];\n    int count;\n"
EMPTY_POOL = "    if (threadIdx.x == 0) pool.count = 0;\n"
PADDING = "    for (int i = count + threadIdx.x; i < size; i += THREADS) pool.keys[i] = 0;\n"
KEPT = "    if (threadIdx.x == 0) pool.count = min(count, k);\n"
FLOOR = "count < k ? 0 : static_cast<uint32_t>(pool.keys[k - 1] >> 32)"
KEY = "    return static_cast<Key>(rank_of(logit)) << 32 | ~static_cast<uint32_t>(column);\n"
COLUMN = "__device__ int column_of(Key key) { return static_cast<int>(~static_cast<uint32_t>(key)); }\n"
RANK = "    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;\n"
SWAP_ENDS = "            }\n            __syncthreads();\n"
HEAD = "    return min(THREADS - past_boundary, vocab);\n"
PAST = "    const int past_boundary = static_cast<int>(reinterpret_cast<uintptr_t>(row) / sizeof(float) % VECTOR);\n"
ONE_COLUMN = "    if (column < end) {\n"
VECTORS = "    const int vectors = (vocab - head) / VECTOR;\n"
BODY = "    const float4* body = reinterpret_cast<const float4*>(row + head);\n"
FIRST_COLUMNS = "    take_columns(row, 0, head, pool, 0, partial);\n"
AHEAD = "    float4 ahead = {};\n"
TAIL = "    take_columns(row, head + vectors * VECTOR, vocab, pool, floor, partial);\n"
VOTE = "        if (__syncthreads_or(place >= CAPACITY - TILE)) floor = keep_best(pool, k);\n"
LOOP = "    for (int first = 0; first < vectors; first += THREADS) {\n"
LAST_SORT = "    const Partial total = merge_block(partial);\n    keep_best(pool, k);\n"
PROBS = "        probs[i] = expf(logit_of(pool.keys[i]) - total.max) / total.sum;\n"
BITS = "    const uint32_t bits = __float_as_uint(logit);\n"
INDICES = "        indices[i] = column_of(pool.keys[i]);\n"
FOUR_PROBS = """\
    const auto prob = [&](int i) { return expf(logit_of(pool.keys[i]) - total.max) / total.sum; };
    for (int i = VECTOR * threadIdx.x; k % VECTOR == 0 && i < k; i += VECTOR * THREADS) {
        *reinterpret_cast<float4*>(probs + i) = {prob(i), prob(i + 1), prob(i + 2), prob(i + 3)};
    }
"""
OUTPUTS = f"    for (int i = threadIdx.x; i < k; i += THREADS) {{\n{PROBS}"
SERVE = "    serve_row(logits + row * vocab, vocab, k, probs + row * k, indices + row * k);\n"
REFUSE = "    if (rows < 1 || k < 1 || k > vocab || k > MAX_K) return cudaErrorInvalidValue;\n"
LAUNCH = "    softmax_topk_kernel<<<rows, THREADS, 0, stream>>>(logits, vocab, k, probs, indices);\n"
INCLUDED = "#include <stdint.h>\n"
KERNEL = "__global__ void __launch_bounds__(THREADS)\n"
HIGHEST = "__device__ float highest;\n"
HIGHEST_KERNEL = """\
__global__ void highest_kernel(const float* logits, size_t n) {
    __shared__ float of_thread[THREADS];
    float mine = -FLT_MAX;
    for (size_t i = threadIdx.x; i < n; i += THREADS) mine = fmaxf(mine, logits[i]);
    of_thread[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int i = 0; i < THREADS; ++i) mine = fmaxf(mine, of_thread[i]);
    highest = mine;
}

"""
LAUNCH_HIGHEST = "    highest_kernel<<<1, THREADS, 0, stream>>>(logits, static_cast<size_t>(rows) * vocab);\n"

STRIPES = """\
    const int stripe = (vectors * VECTOR + THREADS - 1) / THREADS;
    for (int i = 0; i < stripe; ++i) {
        const int column = head + static_cast<int>(threadIdx.x) * stripe + i;
        int place = -1;
        if (column < head + vectors * VECTOR) {
            add(partial, row[column]);
            place = offer(pool, floor, row[column], column);
        }
        if (__syncthreads_or(place >= CAPACITY - TILE)) floor = keep_best(pool, k);
    }
    for (int first = vectors; first < vectors; first += THREADS) {
"""
FOUR_MORE = """\
    for (int pass = 0; pass < 4; ++pass) {
        for (int column = threadIdx.x; column < vocab; column += THREADS) raise_max(partial, row[column]);
    }
"""
COPY_KERNEL = """\
__global__ void copy_kernel(const float* from, float* to, size_t n) {
    for (size_t i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) to[i] = from[i];
}

"""
COPIED = """\
    float* copy = nullptr;
    const size_t n = static_cast<size_t>(rows) * vocab;
    if (cudaMallocAsync(&copy, n * sizeof(float), stream) != cudaSuccess) return cudaErrorMemoryAllocation;
    copy_kernel<<<rows, THREADS, 0, stream>>>(logits, copy, n);
    softmax_topk_kernel<<<rows, THREADS, 0, stream>>>(copy, vocab, k, probs, indices);
    cudaFreeAsync(copy, stream);
"""
COPIED_BY_RUNTIME = """    static float* kept = nullptr;
    static size_t held = 0;
    const size_t needed = sizeof(float) * rows * vocab;
    if (needed > held) {
        cudaFree(kept);
        cudaMalloc(&kept, needed);
        held = needed;
    }
    cudaMemcpyAsync(kept, logits, needed, cudaMemcpyDeviceToDevice, stream);
"""
SCRATCH = """\
    float* scratch = nullptr;
    if (cudaMalloc(&scratch, static_cast<size_t>(rows) * vocab * sizeof(float)) != cudaSuccess) return 1;
"""
ONE_BANK = """\
    struct {
        Key cells[CAPACITY];
        __device__ Key& operator[](int i) { return cells[i % 32 * (CAPACITY / 32) + i / 32]; }
    } keys;
    int count;
"""
IN_ONE_BANK = (
    (POOL, ONE_BANK),
    ("sort_descending(Key* keys, int size)", "sort_descending(Pool& keys, int size)"),
    ("sort_descending(pool.keys, size);", "sort_descending(pool, size);"),
    ("const Key a = keys[low], b = keys[high];", "const Key a = keys.keys[low], b = keys.keys[high];"),
    ("keys[low] = b;", "keys.keys[low] = b;"),
    ("keys[high] = a;", "keys.keys[high] = a;"),
)
LISTED = "        const Candidate mine = {column < end ? row[column] : 0.0f, column};\n"
BY_PROBABILITY = (
    ("int k, Candidate* best) {", "int k, Candidate* best, const Sum* sums) {\n    const Sum sum = sums[blockIdx.x];"),
    (LISTED, LISTED.replace("row[column]", "expf(row[column] - sum.max) / sum.sum")),
    ("= expf(mine.logit - sum.max) / sum.sum;", "= mine.logit;"),
    ("(logits, vocab, k, best);", "(logits, vocab, k, best, sums);"),
)
COUNTING = "    __shared__ volatile int counted[THREADS];\n"
COUNTED = "        for (int i = 0; threadIdx.x % 32 == 0 && i < 4096; ++i) counted[threadIdx.x] = first + i;\n"
SAME_ROWS = f"    if (row % 2 == 1)\n    {SERVE.replace('row * vocab', '(row - 1) * vocab')}"

VALUES = (
    Mutant("missing rescale", "does not scale the sum down when the maximum rises", criterion="values",
           edits=((RESCALE, ""),)),
    Mutant("merged without rescale", "adds partial sums that are relative to different maxima", criterion="values",
           edits=((MERGE, "    both.sum = a.sum + b.sum;\n"),)),
    Mutant("denominator 32 times too large", "adds up the lanes of a warp that hold the whole sum already",
           criterion="values", edits=((LEADER, "    mine.sum *= 32.0f;\n" + LEADER),)),
    Mutant("denominator of one warp", "divides by the sum of the first warp's columns", criterion="values",
           edits=((WARPS, ""),)),
    Mutant("renormalised over k", "normalises over the k chosen instead of the row", criterion="values",
           edits=((OUTPUTS, "    float chosen = 0.0f;\n"
                            "    for (int j = 0; j < k; ++j) chosen += expf(logit_of(pool.keys[j]) - total.max);\n"
                            + OUTPUTS.replace("/ total.sum", "/ chosen")),)),
    Mutant("powers of two", "raises 2 instead of e to the logits", criterion="values",
           edits=((INCLUDED, INCLUDED + "\n#define expf exp2f\n"),)),
    Mutant("first columns not summed", "leaves the first 256 columns out of the sum", criterion="values",
           edits=((ADD_ONE, "        if (begin > 0) add(partial, logit);\n"),)),
    Mutant("tail not summed", "leaves the last columns, when they fill no vector, out of the sum", criterion="values",
           edits=((ADD_ONE, "        if (begin == 0) add(partial, logit);\n"),)),
    Mutant("columns far below a peak skipped", "sums no four columns that lie more than 15.5 below the largest logit "
           "that the block has sorted", criterion="values",
           edits=((OF_VECTOR, OF_VECTOR.replace("floor,", "floor, float peak,")), (ADD_FOUR, NEAR_PEAK + ADD_FOUR),
                  (CALL_OF_VECTOR, CALL_OF_VECTOR.replace("floor,", "floor, peak,")),
                  (FIRST_SORT, FIRST_SORT + PEAK))),
    Mutant("maximum starts at zero", "takes the maximum of a row to be 0 at least", criterion="stability",
           edits=((START, START.replace("-FLT_MAX", "0.0f")),)),
    Mutant("maximum starts at -10,000", "takes the maximum of a row to be -10,000 at least", criterion="stability",
           edits=((START, START.replace("-FLT_MAX", "-1e4f")),)),
    Mutant("one maximum for all rows", "takes the largest logit of all rows for each row's maximum",
           criterion="stability",
           edits=((INCLUDED, INCLUDED + HIGHEST), (START, START.replace("-FLT_MAX", "highest")),
                  (KERNEL, HIGHEST_KERNEL + KERNEL), (LAUNCH, LAUNCH_HIGHEST + LAUNCH))),
    Mutant("no maximum subtracted", "overflows where logits are large", criterion="stability",
           edits=((RAISE, "    partial.max = 0.0f;\n"),)),
)  # fmt: skip

CHOICE = (
    Mutant("half of the threads merged", "leaves out what threads 128 to 255 find", criterion="selection",
           edits=((OFFER, "    if (threadIdx.x >= 128) return -1;\n" + OFFER),)),
    Mutant("first warp only", "leaves out what all warps but the first find", criterion="selection",
           edits=((OFFER, "    if (threadIdx.x >= 32) return -1;\n" + OFFER),)),
    Mutant("ten threads merged", "takes candidates from the first 10 threads only", criterion="selection",
           edits=((OFFER, "    if (threadIdx.x >= 10 && column >= 10) return -1;\n" + OFFER),)),
    Mutant("sixteen of a thread", "lets no thread bring in more than 16 candidates", criterion="selection",
           edits=((POOL, POOL + "    int taken[THREADS];\n"),
                  (EMPTY_POOL, "    pool.taken[threadIdx.x] = 0;\n" + EMPTY_POOL),
                  (TAKE_PLACE, "    if (pool.taken[threadIdx.x]++ >= 16) return -1;\n" + TAKE_PLACE))),
    Mutant("k clamped at 32", "keeps no more than 32 candidates from tile to tile", criterion="selection",
           edits=((KEPT, KEPT.replace("min(count, k)", "min(count, min(k, 32))")),)),
    Mutant("one too few kept", "raises the floor to the last but one of the best", criterion="selection",
           edits=((FLOOR, FLOOR.replace("k - 1]", "k / 2]")),)),
    Mutant("first columns not offered", "never considers the first 256 columns", criterion="selection",
           edits=((FIRST_COLUMNS, FIRST_COLUMNS.replace("pool, 0,", "pool, 0xffffffffu,")),)),
    Mutant("indices of 16 bits", "keeps columns in 16 bits", criterion="large_vocab",
           edits=((COLUMN, COLUMN.replace("~static_cast<uint32_t>(key)", "~static_cast<uint32_t>(key) & 0xffffu")),)),
    Mutant("keys of 16 bits", "orders logits by their upper 16 bits", criterion="ties",
           edits=((KEY, KEY.replace("rank_of(logit))", "rank_of(logit) & 0xffff0000u)")),
                  (OFFER, OFFER.replace("rank_of(logit)", "(rank_of(logit) & 0xffff0000u)")))),
    Mutant("fixed point near zero", "orders logits nearer to 0 than 1 by 22 binary places", criterion="ties",
           edits=((BITS, f"    if (fabsf(logit) < 1.0f) logit = rintf(logit * 0x1p22f) * 0x1p-22f;\n{BITS}"),)),
    Mutant("ranks by probability", "chooses the k largest probabilities as float32 has them", criterion="stability",
           file="variants/three_kernels.cu", edits=BY_PROBABILITY),
    Mutant("first of equal logits twice", "names the first column that holds a value for each of equal logits",
           criterion="ties",
           edits=((INDICES, "        int column = 0;\n"
                            "        while (row[column] != logit_of(pool.keys[i])) ++column;\n"
                            "        indices[i] = column;\n"),)),
    Mutant("larger logits crowded out", "fills the places with logits equal to the k-th, before larger ones",
           criterion="ties",
           edits=((KEPT, "    if (threadIdx.x == 0 && count > k) {\n"
                         "        const Key last = pool.keys[k - 1] >> 32;\n"
                         "        int more = 0;\n"
                         "        while (k + more < count && pool.keys[k + more] >> 32 == last) ++more;\n"
                         "        for (int i = 0; i < k; ++i) pool.keys[i] = pool.keys[i + more];\n"
                         f"    }}\n    __syncthreads();\n{KEPT}"),)),
    Mutant("-inf no candidate", "never considers a logit of -inf", criterion="special_values",
           edits=((FIRST_COLUMNS, FIRST_COLUMNS.replace("pool, 0,", "pool, 0x007fffffu,")),
                  (FLOOR, FLOOR.replace("? 0 :", "? 0x007fffffu :")))),
    Mutant("lanes outside the row", "offers -inf for columns outside a row, last of equals first",
           criterion="special_values",
           edits=((KEY, KEY.replace("~", "")), (COLUMN, COLUMN.replace("~", "")),
                  (ONE_COLUMN, f"    if (column >= end) offer(pool, floor, -INFINITY, column);\n{ONE_COLUMN}"))),
    Mutant("lists start at the smallest float", "never considers a logit of -FLT_MAX", criterion="special_values",
           edits=((FIRST_COLUMNS, FIRST_COLUMNS.replace("pool, 0,", "pool, 0x00800000u,")),
                  (FLOOR, FLOOR.replace("? 0 :", "? 0x00800000u :")))),
    Mutant("maximum starts at -inf", "takes -inf from -inf where a row begins with it", criterion="special_values",
           edits=((START, START.replace("-FLT_MAX", "-__int_as_float(0x7f800000)")),)),
)  # fmt: skip

FORM = (
    Mutant("every fourth row written", "writes the results of every fourth row only", criterion="rows",
           edits=((SERVE, "    if (row % 4 == 0)\n    " + SERVE),)),
    Mutant("rows in pairs", "gives every second row the result of the one before it", criterion="rows",
           edits=((SERVE, SAME_ROWS + "    else\n    " + SERVE),)),
    Mutant("tail dropped", "drops the last columns when they fill no vector", criterion="shapes",
           edits=((TAIL, ""),)),
    Mutant("k = vocab refused", "refuses k = vocab", criterion="shapes",
           edits=((REFUSE, REFUSE.replace("k > vocab", "k >= vocab")),)),
    Mutant("in place", "writes exponentials over the logits", criterion="repeatable",
           edits=((ADD_ONE, ADD_ONE + "        const_cast<float*>(row)[column] = expf(logit);\n"),)),
    Mutant("k up to 128", "refuses k over 128 without saying that this is its limit", criterion="every_k",
           edits=((REFUSE, REFUSE.replace("k > MAX_K", "k > MAX_K / 2")),)),
    Mutant("k not refused", "takes any k for a legal one", criterion="refusal", edits=((REFUSE, ""),)),
    Mutant("refused too late", "clears the outputs before it looks at k", criterion="refusal",
           edits=((REFUSE, "    cudaMemsetAsync(probs, 0, sizeof(float), stream);\n" + REFUSE),)),
    Mutant("base taken for aligned", "takes the first row to begin at a 16-byte boundary", criterion="alignment",
           edits=((PAST, "    const int past_boundary = static_cast<int>(size_t{blockIdx.x} * vocab % VECTOR);\n"),
                  (BODY, BODY.replace("(row + head)", "(reinterpret_cast<uintptr_t>(row + head) & ~uintptr_t(15))")))),
    Mutant("vector loads by vocab % 4 alone", "takes every row to begin at a 16-byte boundary where 4 divides vocab",
           criterion="alignment", edits=((PAST, PAST.replace("= static", "= vocab % VECTOR == 0 ? 0 : static")),)),
    Mutant("outputs taken for aligned", "stores four probabilities at once where 4 divides k", criterion="alignment",
           edits=((OUTPUTS, FOUR_PROBS + OUTPUTS.replace("probs[i] =", "if (k % VECTOR) probs[i] =")),)),
    Mutant("default stream", "launches on the default stream", criterion="stream_order",
           edits=((LAUNCH, LAUNCH.replace(", 0, stream>>>", ">>>")),)),
)  # fmt: skip

MEMORY = (
    Mutant("one column too many", "reads one column past the end of a row", criterion="memory_safety",
           edits=((ONE_COLUMN, "    if (column <= end) {\n"),)),
    Mutant("vectors rounded up", "reads the last columns as a whole vector", criterion="memory_safety",
           edits=((VECTORS, VECTORS.replace("(vocab - head)", "(vocab - head + VECTOR - 1)")),)),
    Mutant("rows taken for aligned", "reads 16 bytes at addresses off a 16-byte boundary", criterion="memory_safety",
           edits=((PAST, "    const int past_boundary = 0;\n"),)),
    Mutant("pool never emptied", "counts candidates from whatever shared memory holds", criterion="memory_safety",
           edits=((EMPTY_POOL, ""),)),
    Mutant("pool padded with nothing", "sorts uninitialized keys among the candidates", criterion="memory_safety",
           edits=((PADDING, ""),)),
    Mutant("pool overrun", "never sorts the pool while a row is read", criterion="memory_safety",
           edits=((VOTE, "        __syncthreads();\n"),)),
    Mutant("rows of the largest k", "leaves room for 256 results in every row", criterion="memory_safety",
           edits=((SERVE, SERVE.replace("row * k", "row * MAX_K")),)),
    Mutant("barrier missing after partials", "reads partial sums of warps that may not have written them",
           criterion="synchronisation", edits=((AFTER_LEADERS, "    Partial total = of_warp[0];\n"),)),
    Mutant("barrier missing in the sort", "goes on to the next step of the sort without waiting",
           criterion="synchronisation", edits=((SWAP_ENDS, "            }\n"),)),
    Mutant("barrier in a branch", "waits for all threads where only some come by", criterion="synchronisation",
           edits=((VOTE, VOTE.replace("if (__syncthreads_or(", "if (vector < vectors && __syncthreads_or(")),)),
    Mutant("warp barrier for the block's", "orders warps by a barrier of the lanes of each",
           criterion="synchronisation", edits=((AFTER_LEADERS, AFTER_LEADERS.replace("threads()", "warp()")),)),
)  # fmt: skip

TRAFFIC = (
    Mutant("five passes", "reads each row four times for its maximum before it begins", criterion="passes",
           edits=((AHEAD, FOUR_MORE + AHEAD),)),
    Mutant("a stripe for each thread", "lets neighbouring threads read columns far from each other",
           criterion="coalescing", edits=((LOOP, STRIPES),)),
    Mutant("one bank", "spreads neighbouring keys so that they lie in one bank", criterion="bank_conflicts",
           edits=IN_ONE_BANK),
    Mutant("one bank, and stores of single lanes", "spreads keys so that they lie in one bank, and counts vectors",
           criterion="bank_conflicts", edits=(*IN_ONE_BANK, (LOOP, COUNTING + LOOP), (VOTE, VOTE + COUNTED))),
    Mutant("logits copied", "copies the logits to memory of its own and reads the copy", criterion="less_traffic",
           edits=((LAUNCH, COPIED), (KERNEL, COPY_KERNEL + KERNEL))),
    Mutant("logits copied by the runtime", "has the runtime copy the logits to memory that it keeps between calls",
           criterion="less_traffic", edits=((LAUNCH, COPIED_BY_RUNTIME + LAUNCH),)),
    Mutant("scratch of the logits' size", "allocates as much as the logits take", criterion="no_intermediate",
           edits=((LAUNCH, SCRATCH + LAUNCH + "    cudaFree(scratch);\n"),)),
    Mutant("outputs written with every tile", "writes intermediate results to the outputs after every tile",
           criterion="bytes_written",
           edits=((VOTE, VOTE + "        for (int i = threadIdx.x; i < k; i += THREADS) probs[i] = partial.sum;\n"),)),
)  # fmt: skip

MUTANTS = VALUES + CHOICE + FORM + MEMORY + TRAFFIC + SIZES + UNWRITTEN
