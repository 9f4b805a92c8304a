"""Right kernels that work differently from the reference: every probe must stay silent on them."""

from harness.probing import Variant

THREADS = "constexpr int THREADS = 256;\n"
VECTOR = "constexpr int VECTOR = 4;"
INCLUDED = "#include <stdint.h>\n"
SHUFFLES = """\
    for (int distance = 16; distance > 0; distance /= 2) {
        Partial other;
        other.max = __shfl_xor_sync(0xffffffffu, mine.max, distance);
        other.sum = __shfl_xor_sync(0xffffffffu, mine.sum, distance);
        mine = merge(mine, other);
    }
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
"""
TILES = """\
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const float max = cg::reduce(warp, mine.max, cg::greater<float>());
    mine.sum = cg::reduce(warp, mine.sum * expf(mine.max - max), cg::plus<float>());
    mine.max = max;
    if (warp.thread_rank() == 0) of_warp[warp.meta_group_rank()] = mine;
"""
NETWORK = """\
    for (int run = 2; run <= size; run *= 2) {
        for (int stride = run / 2; stride > 0; stride /= 2) {
            for (int pair = threadIdx.x; pair < size / 2; pair += THREADS) {
                const int low = 2 * pair - (pair & (stride - 1));
                const int high = low + stride;
                const bool descending = (low & run) == 0;
                const Key a = keys[low], b = keys[high];
                if ((a < b) == descending) {
                    keys[low] = b;
                    keys[high] = a;
                }
            }
            __syncthreads();
        }
    }
"""
MERGES = """\
    for (int run = 1; run < size; run *= 2) {
        for (int stride = run; stride > 0; stride /= 2) {
            for (int low = threadIdx.x; low + stride < size; low += THREADS) {
                const int high = low + stride;
                const bool met = (low % (2 * stride) / stride == 1) != (stride == run);
                if (!met || (stride != run && low / (2 * run) != high / (2 * run))) continue;
                const Key a = keys[low], b = keys[high];
                if (a < b) {
                    keys[low] = b;
                    keys[high] = a;
                }
            }
            __syncthreads();
        }
    }
"""
FIRST_OF_EQUALS = "    return static_cast<Key>(rank_of(logit)) << 32 | ~static_cast<uint32_t>(column);\n"
COLUMN = "__device__ int column_of(Key key) { return static_cast<int>(~static_cast<uint32_t>(key)); }\n"
ADD_ONE = "        add(partial, logit);\n"
ADD_FOUR = "    add(partial, logits);\n    const int first"
FIRST_COLUMNS = "    take_columns(row, 0, head, pool, 0, partial);\n"
MERGE_PARTIALS = "    const Partial total = merge_block(partial);\n"
SUM_ROW = "    for (int column = threadIdx.x; column < vocab; column += THREADS) add(partial, row[column]);\n"
KERNEL_BODY = """\
    const size_t row = blockIdx.x;
    serve_row(logits + row * vocab, vocab, k, probs + row * k, indices + row * k);
"""
ALL_ROWS = """\
    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {
        serve_row(logits + row * vocab, vocab, k, probs + row * k, indices + row * k);
        __syncthreads();
    }
"""
PARAMETERS = "softmax_topk_kernel(const float* logits, int vocab, int k,"
LAUNCH = "<<<rows, THREADS, 0, stream>>>(logits, vocab, k,"

TAKE_FOUR = """\
    add(partial, logits);
    const int first = max(offer(pool, floor, logits.x, column), offer(pool, floor, logits.y, column + 1));
    const int second = max(offer(pool, floor, logits.z, column + 2), offer(pool, floor, logits.w, column + 3));
    return max(first, second);
"""
SCALAR = (
    (VECTOR, "constexpr int VECTOR = 1;"),
    ("int take_vector(float4 logits,", "int take_vector(float logits,"),
    (TAKE_FOUR, "    add(partial, logits);\n    return offer(pool, floor, logits, column);\n"),
    ("const float4* body = reinterpret_cast<const float4*>(row + head);", "const float* body = row + head;"),
    ("    float4 ahead = {};\n", "    float ahead = 0.0f;\n"),
    ("        const float4 now = ahead;\n", "        const float now = ahead;\n"),
)  # fmt: skip

LAUNCH_ALL = "    softmax_topk_kernel<<<rows, THREADS, 0, stream>>>(logits, vocab, k, probs, indices);\n"
LAUNCHES = """\
    constexpr int AT_ONCE = 640;
    for (size_t first = 0; first < rows; first += AT_ONCE) {
        softmax_topk_kernel<<<min(rows - static_cast<int>(first), AT_ONCE), THREADS, 0, stream>>>(
            logits + first * vocab, vocab, k, probs + first * k, indices + first * k);
    }
"""
PARTIAL = "struct Partial {\n    float max;\n    float sum;\n};\n"
RAISED = "        partial.sum *= expf(partial.max - logit);\n"
ADD_ITSELF = "    raise_max(partial, logit);\n    partial.sum += expf(logit - partial.max);\n"
COMPENSATED = """\
    raise_max(partial, logit);
    const float term = expf(logit - partial.max) - partial.excess;
    const float sum = partial.sum + term;
    partial.excess = (sum - partial.sum) - term;
    partial.sum = sum;
"""
ADD_EACH = """\
    raise_max(partial, fmaxf(fmaxf(logits.x, logits.y), fmaxf(logits.z, logits.w)));
    partial.sum += (expf(logits.x - partial.max) + expf(logits.y - partial.max)) +
                   (expf(logits.z - partial.max) + expf(logits.w - partial.max));
"""
ADD_IN_TURN = "    for (float logit : {logits.x, logits.y, logits.z, logits.w}) add(partial, logit);\n"
POOL = "struct Pool {\n    Key keys[CAPACITY];\n    int count;\n};\n"
POOL_BY_K = """\
struct Pool {
    Key* keys;
    int& count;
};

__host__ __device__ int capacity_for(int k) { return k <= MAX_K / 4 ? 2 * TILE : 4 * TILE; }
"""
ROOM_BY_K = """\
    extern __shared__ Key room[];
    __shared__ int count;
    Pool pool = {room, count};
    const int capacity = capacity_for(k);
"""

ENTRY = "    float logit;\n    int column;\n"
NEW_ENTRY = "            const Entry entry = {mine[column], column};\n"
SCRATCH = """\
    void* memory = nullptr;
    const cudaError_t failed = cudaMallocAsync(&memory, bytes, stream);
    if (failed != cudaSuccess) return failed;
"""
KEPT_SCRATCH = """\
    static void* memory = nullptr;
    static size_t room = 0;
    if (bytes > room) {
        cudaFree(memory);
        const cudaError_t failed = cudaMalloc(&memory, bytes);
        room = failed == cudaSuccess ? bytes : 0;
        if (failed != cudaSuccess) return failed;
    }
"""
FREED = "    cudaFreeAsync(memory, stream);\n"

VARIANTS = (
    Variant("one warp for a row", "serves each row with a block of one warp", edits=(
        (THREADS, "constexpr int THREADS = 32;\n"),
    )),
    Variant("no vector loads", "reads one float at a time", edits=SCALAR),
    Variant("blocks of 1024", "serves each row with 1024 threads that read one float at a time", edits=(
        *SCALAR, (THREADS, "constexpr int THREADS = 1024;\n"),
    )),
    Variant("two passes", "sums a row in a pass of its own, before the one that looks for candidates", edits=(
        (ADD_ONE, ""),
        (ADD_FOUR, "    const int first"),
        (MERGE_PARTIALS, SUM_ROW + MERGE_PARTIALS),
    )),
    Variant("merge sort", "sorts by Batcher's odd-even merges instead of a bitonic network", edits=(
        (NETWORK, MERGES),
    )),
    Variant("last of equals first", "prefers the larger column among equal logits that meet in the pool", edits=(
        (FIRST_OF_EQUALS, FIRST_OF_EQUALS.replace("~static_cast", "static_cast")),
        (COLUMN, COLUMN.replace("~static_cast", "static_cast")),
    )),
    Variant("cooperative groups", "reduces in tiles of 32 threads with cooperative groups", edits=(
        (INCLUDED, INCLUDED + "\n#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n\n"
                   "namespace cg = cooperative_groups;\n"),
        (SHUFFLES, TILES),
    )),
    Variant("few blocks", "lets three blocks take the rows in turns", edits=(
        (PARAMETERS, PARAMETERS.replace("int vocab", "size_t rows, int vocab")),
        (KERNEL_BODY, ALL_ROWS),
        (LAUNCH, "<<<min(rows, 3), THREADS, 0, stream>>>(logits, static_cast<size_t>(rows), vocab, k,"),
    )),
    Variant("hardware exponential", "takes the exponentials from the special function unit", edits=(
        (INCLUDED, INCLUDED + "\n#define expf __expf\n"),
    )),
    Variant("split rows", "divides rows among blocks, whose results a second kernel merges from a small scratch",
            file="variants/split_rows.cu"),
    Variant("insertion", "keeps a sorted list for each row in shared memory, into which one warp inserts",
            file="variants/insertion.cu"),
    Variant("shared heap", "keeps a heap for each warp, built and emptied by its first lane",
            file="variants/warp_heaps.cu"),
    Variant("sums in double precision", "carries the sums of exponentials in double precision", edits=(
        (PARTIAL, PARTIAL.replace("float sum", "double sum")),
    )),
    Variant("compensated sums", "carries with each sum what rounding added to it", edits=(
        (PARTIAL, PARTIAL.replace("    float sum;\n", "    float sum;\n    float excess;\n")),
        (RAISED, RAISED + RAISED.replace("sum", "excess")),
        (ADD_ITSELF, COMPENSATED),
        (ADD_EACH, ADD_IN_TURN),
        (SHUFFLES, "    mine.sum -= mine.excess;\n" + SHUFFLES),
    )),
    Variant("exponentials to base 2", "raises 2 to the logits times log2(e)", edits=(
        (INCLUDED, INCLUDED + "\n#define expf(x) exp2f((x) * 1.4426950408889634f)\n"),
    )),
    Variant("logarithm of the sum", "subtracts the logarithm of the sum instead of dividing", edits=(
        ("expf(logit_of(pool.keys[i]) - total.max) / total.sum",
         "expf((logit_of(pool.keys[i]) - total.max) - logf(total.sum))"),
    )),
    Variant("read-only loads", "reads the logits through the read-only cache", edits=(
        ("        const float logit = row[column];\n", "        const float logit = __ldg(row + column);\n"),
        ("ahead = body[threadIdx.x];", "ahead = __ldg(body + threadIdx.x);"),
        ("ahead = body[vector + THREADS];", "ahead = __ldg(body + vector + THREADS);"),
    )),
    Variant("grid of two dimensions", "numbers the rows over a grid of two dimensions", edits=(
        (PARAMETERS, PARAMETERS.replace("int vocab", "size_t rows, int vocab")),
        ("    const size_t row = blockIdx.x;\n",
         "    const size_t row = size_t{blockIdx.y} * gridDim.x + blockIdx.x;\n    if (row >= rows) return;\n"),
        (LAUNCH, "<<<dim3(min(rows, 1000), (rows - 1) / 1000 + 1), THREADS, 0, stream>>>(logits, rows, vocab, k,"),
    )),
    Variant("many launches", "launches a kernel for every 640 rows", edits=((LAUNCH_ALL, LAUNCHES),)),
    Variant("room by k", "asks for shared memory at the launch, as much as k needs", edits=(
        (THREADS, "constexpr int THREADS = 64;\n"),
        (POOL, POOL_BY_K),
        ("    __shared__ Pool pool;\n", ROOM_BY_K),
        ("place >= CAPACITY - TILE", "place >= capacity - TILE"),
        (LAUNCH, "<<<rows, THREADS, capacity_for(k) * sizeof(Key), stream>>>(logits, vocab, k,"),
    )),
    Variant("thread for each row", "gives each thread a row, which the block loads tile by tile, and a heap",
            file="variants/thread_rows.cu"),
    Variant("queues of lanes", "lets the warps of a fixed grid take rows in turns, with a short queue for each lane",
            file="variants/warp_queues.cu"),
    Variant("lists in registers", "keeps the best of a row in a warp's registers, with templates for k and alignment",
            file="variants/register_lists.cu"),
    Variant("bisection", "finds the k-th largest of the candidates bit by bit", file="variants/bisection.cu"),
    Variant("sorted chunks", "sorts every column, chunk by chunk, and sums each chunk below its maximum",
            file="variants/sorted_chunks.cu"),
    Variant("repeated maximum", "takes the maximum out of the candidates k times",
            file="variants/repeated_maximum.cu"),
    Variant("last block merges", "divides long rows among blocks, of which the last to end merges the others",
            file="variants/last_block.cu"),
    Variant("scratch kept", "keeps its scratch from call to call, and reads no more of it than the call wrote",
            file="variants/last_block.cu", edits=((SCRATCH, KEPT_SCRATCH), (FREED, ""))),
    Variant("padded candidates", "copies candidates with bytes that nobody writes through its scratch",
            file="variants/split_rows.cu",
            edits=((ENTRY, ENTRY + "    unsigned char part;\n"),
                   (NEW_ENTRY, NEW_ENTRY.replace("}", ", static_cast<unsigned char>(part)}")))),
    Variant("three kernels", "sums the rows, selects in parts and merges in kernels of their own",
            file="variants/three_kernels.cu"),
)  # fmt: skip
