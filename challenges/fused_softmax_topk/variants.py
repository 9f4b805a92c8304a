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
)  # fmt: skip
