"""Kernels that are wrong at few sizes only, or after few calls: each the reference with one fault planted."""

from harness.probing import Mutant

PART_SUM = "    sum = block_sum(sum);\n"
INCLUDED = "#include <stdint.h>\n"
SERVE = "    serve_row(logits + row * vocab, vocab, k, probs + row * k, indices + row * k);\n"
ROW = "    const size_t row = blockIdx.x;\n"
LAUNCH = "    softmax_topk_kernel<<<rows, THREADS, 0, stream>>>(logits, vocab, k, probs, indices);\n"
REFUSE = "    if (rows < 1 || k < 1 || k > vocab || k > MAX_K) return cudaErrorInvalidValue;\n"
TAIL = "    take_columns(row, head + vectors * VECTOR, vocab, pool, floor, partial);\n"
LOOP = "    for (int first = 0; first < vectors; first += THREADS) {\n"
MERGED = "    const Partial total = merge_block(partial);\n"
KEPT = "    if (threadIdx.x == 0) pool.count = min(count, k);\n"
INDICES = "        indices[i] = column_of(pool.keys[i]);\n"
RANK = "    const uint32_t bits = __float_as_uint(logit);\n"
OFFER = "    if (rank_of(logit) <= floor) return -1;\n"

DUPLICATE = """\
        const bool again = i > 0 && logit_of(pool.keys[i]) == logit_of(pool.keys[i - 1]);
        indices[i] = column_of(pool.keys[again && column_of(pool.keys[i]) > 4096 ? i - 1 : i]);
"""
REMEMBER = """\
    static bool refused = false;
    if (rows < 1 || k < 1 || k > vocab || k > MAX_K) {
        refused = true;
        return cudaErrorInvalidValue;
    }
    if (refused) k = k > 1 ? k - 1 : k;
    refused = false;
"""
STORED = "    pool.keys[place] = key_of(logit, column);\n"
PLACE = "        if (__syncthreads_or(place >= CAPACITY - TILE)) floor = keep_best(pool, k);\n"
COUNTED = "    const int count = pool.count;\n"
DUE = "        if (__syncthreads_or((first / THREADS & (first / THREADS + 1)) == 0)) floor = keep_best(pool, k);\n"
SERVED = "int* __restrict__ indices) {\n    __shared__ Pool pool;\n"
FIRST_FLOOR = "    uint32_t floor = keep_best(pool, k);\n"
IN_TURNS = f"""\
    uint32_t before = 0;
    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {{
    {SERVE.replace(");", ", before);")}        __syncthreads();
    }}
"""
KEEP_FIRST = "    static const int first = vocab;\n    if (vocab > first && first >= k) vocab = first;\n"
PARTIAL = "    Partial partial = {-FLT_MAX, 0.0f};  // finite"
SUM_OF_TURNS = IN_TURNS.replace("uint32_t before", "float sum").replace("before", "sum")


def _in_turns(loop: str, given: str) -> tuple[tuple[str, str], ...]:
    """Serve rows by 432 blocks in turns, which give each row what is left of the one before."""
    return (
        (SERVED, SERVED.replace("indices)", f"indices, {given})")),
        ("softmax_topk_kernel(const float* logits, int vocab,",
         "softmax_topk_kernel(const float* logits, size_t rows, int vocab,"),
        (ROW + SERVE, loop),
        (LAUNCH, LAUNCH.replace("<<<rows,", "<<<min(rows, 432),").replace("(logits,", "(logits, rows,")),
    )  # fmt: skip


def _launched(grid: str) -> tuple[str, str]:
    return LAUNCH, LAUNCH.replace("<<<rows,", f"<<<{grid},")


SIZES = (
    Mutant("grid of 4,096 blocks at most", "leaves rows after the 4,096th unwritten", criterion="any_size",
           edits=(_launched("min(rows, 4096)"),)),
    Mutant("grid of 65,535 blocks at most", "leaves rows after the 65,535th unwritten", criterion="any_size",
           edits=(_launched("min(rows, 65535)"),)),
    Mutant("rows in 16 bits", "keeps the number of a row in 16 bits", criterion="any_size",
           edits=((ROW, ROW.replace("size_t row = ", "unsigned short row = ")),
                  (SERVE, SERVE.replace("row *", "size_t{row} *")))),
    Mutant("rows along y", "asks for a grid of more than 65,535 blocks along y", criterion="any_size",
           edits=(_launched("dim3(1, rows)"), (ROW, ROW.replace("blockIdx.x", "blockIdx.y")))),
    Mutant("floor of the row before", "keeps a row's floor for the next until k columns set another",
           criterion="rows",
           edits=(*_in_turns(IN_TURNS, "uint32_t& before"),
                  (FIRST_FLOOR, f"{FIRST_FLOOR}    if (floor == 0) floor = before;\n"),
                  (MERGED + "    keep_best", MERGED + "    before = keep_best"))),
    Mutant("sum scaled to nothing", "scales the sum of the row before by 0, which leaves NaN as it is",
           criterion="special_values",
           edits=(*_in_turns(SUM_OF_TURNS, "float& sum"), (PARTIAL, PARTIAL.replace("0.0f", "sum * 0.0f")),
                  (MERGED, "    sum = partial.sum;\n" + MERGED))),
    Mutant("every second row of many", "leaves every second row after the 1,183rd unwritten", criterion="any_size",
           edits=((SERVE, "    if (row < 1183 || row % 2 == 0)\n    " + SERVE),)),
    Mutant("tail dropped in long rows", "drops the last columns of rows of more than 1,183", criterion="any_size",
           edits=((TAIL, "    if (vocab <= 1183)\n    " + TAIL),)),
    Mutant("tail dropped from a computed size", "drops the last columns of rows of more than 2,853",
           criterion="any_size", edits=((TAIL, "    if (vocab <= 11 * THREADS + 37)\n    " + TAIL),)),
    Mutant("last vectors dropped in very long rows", "drops vectors of rows of more than 30,000 columns",
           criterion="any_size",
           edits=((LOOP, LOOP.replace("< vectors", "< vectors - (vocab > 30000 ? THREADS : 0)")),)),
    Mutant("one too few at k = 31", "keeps 30 candidates where 31 are asked for", criterion="any_size",
           edits=((KEPT, KEPT.replace("min(count, k)", "min(count, k == 31 ? 30 : k)")),)),
    Mutant("one too few at a computed k", "keeps 57 candidates where 58 are asked for", criterion="any_size",
           edits=((KEPT, KEPT.replace("min(count, k)", "min(count, k == 7 * WARPS + 2 ? k - 1 : k)")),)),
    Mutant("endless at a computed k", "never ends where 59 candidates are asked for", criterion="any_size",
           edits=((KEPT, "    for (volatile int again = 1; again && k == 7 * WARPS + 3;) {}\n" + KEPT),)),
    Mutant("tail dropped at multiples of 47", "drops the last columns of rows of a multiple of 47",
           criterion="any_size", edits=((TAIL, "    if (vocab % (6 * WARPS - 1) != 0)\n    " + TAIL),)),
    Mutant("k clamped at 224", "keeps no more than 224 candidates from tile to tile", criterion="any_size",
           edits=((KEPT, KEPT.replace("min(count, k)", "min(count, min(k, 7 * WARPS * 4))")),)),
    Mutant("equals twice beyond column 4,096", "names a column twice for equal logits beyond column 4,096",
           criterion="any_size", edits=((INDICES, DUPLICATE),)),
    Mutant("16 bits compared in long rows", "compares 16 bits of logits beyond column 5,000",
           criterion="any_size",
           edits=((OFFER, "    const uint32_t near = column > 5000 ? 0xffff : 0;\n"
                          "    if ((rank_of(logit) | near) <= (floor | near)) return -1;\n"),)),
    Mutant("candidates beyond the pool dropped", "sorts after 1, 2, 4, 8 tiles, and drops what does not fit",
           criterion="any_size",
           edits=((STORED, STORED.replace("    pool", "    if (place < CAPACITY) pool")), (PLACE, DUE),
                  (COUNTED, COUNTED.replace("pool.count", "min(pool.count, CAPACITY)")))),
    Mutant("-0.0 below all", "takes -0.0 for the smallest logit", criterion="any_size",
           edits=((RANK, RANK + "    if (bits == 0x80000000u) return 1;\n"),)),
    Mutant("sum of 7 bits in long rows", "keeps 7 bits of the sum of rows of more than 2,500 columns",
           criterion="any_size",
           edits=((MERGED, MERGED.replace("const ", "") + "    if (vocab > 2500) total.sum = "
                           "__uint_as_float(__float_as_uint(total.sum) & 0xfffe0000u);\n"),)),
    Mutant("-inf clears a neighbour", "clears the last probability of the row before one of -inf alone",
           criterion="special_values",
           edits=((MERGED, MERGED + "    if (threadIdx.x == 0 && total.sum == 0.0f) probs[-1] = 0.0f;\n"),)),
    Mutant("parts of -inf alone", "takes -inf from -inf where a part of a long row holds nothing else",
           criterion="special_values", file="variants/last_block.cu",
           edits=(("PART = 16384;", "PART = 4096;"),
                  (PART_SUM, PART_SUM + "    if (sum.sum == 0.0f) sum.max = -INFINITY;\n"
                             "    sum.sum *= expf(sum.max - sum.max);\n"))),
    Mutant("a refusal remembered", "serves one k too few after a refused call", criterion="any_size",
           edits=((REFUSE, REMEMBER),)),
    Mutant("first length kept", "reads no longer rows than the first call had", criterion="any_size",
           edits=((LAUNCH, KEEP_FIRST + LAUNCH),)),
)  # fmt: skip
