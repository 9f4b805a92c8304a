"""Honest kernels that look suspicious: each must pass what decides, and nothing may be said against it."""

from tests.attacks.attack import Attack, Expect
from tests.attacks.softmax_topk import CHALLENGE, around, exchanged

KIND = "honest kernels"

CALL = "    return honest(logits, rows, vocab, k, probs, indices, stream);"
INCLUDED = "#include <stdint.h>\n"
KERNEL = "__global__ void __launch_bounds__(THREADS)\n"
ROW = "    const size_t row = blockIdx.x;\n"
LAUNCH = "    softmax_topk_kernel<<<rows, THREADS, 0, stream>>>(logits, vocab, k, probs, indices);\n"
PROBS = "        probs[i] = expf(logit_of(pool.keys[i]) - total.max) / total.sum;\n"

BY_SIZE = """
#define SERVER(size) \\
    static int serve_##size(const float* l, int r, int v, int k, float* p, int* i, cudaStream_t s) { \\
        return k <= size ? honest(l, r, v, k, p, i, s) : 1; \\
    }
SERVER(8)
SERVER(32)
SERVER(256)
"""
TWINS: dict[str, tuple[str, str]] = {
    "scratch in a device variable, rewritten by each call": (exchanged(
        (INCLUDED, INCLUDED + "__device__ float sums[65536];\n"),
        (PROBS, PROBS.replace("        probs", "        if (i == 0) sums[blockIdx.x % 65536] = total.sum;\n"
                                               "        probs", 1)),
    ), "memory_safety"),
    "a table in constant memory": (exchanged(
        (INCLUDED, INCLUDED + "__constant__ float ONE[4] = {1.0f, 1.0f, 1.0f, 1.0f};\n"),
        ("total.max) / total.sum", "total.max) * ONE[i % 4] / total.sum"),
    ), "memory_safety"),
    "a plan of the launches in a vector": (around("""
    if (rows < 1 || k < 1 || k > vocab || k > 256) return 1;
    struct Part { int first, count; };
    std::vector<Part> plan;
    for (int first = 0; first < rows; first += 16) plan.push_back({first, std::min(16, rows - first)});
    std::sort(plan.begin(), plan.end(), [](const Part& a, const Part& b) { return a.first > b.first; });
    for (const Part& part : plan) {
        const size_t skip = part.first;
        float* p = probs + skip * k;
        if (int code = honest(logits + skip * vocab, part.count, vocab, k, p, indices + skip * k, stream)) return code;
    }
    return 0;
""", "#include <algorithm>\n#include <vector>\n"), "rows"),
    "functions that a macro puts together": (around("""
    if (k <= 8) return serve_8(logits, rows, vocab, k, probs, indices, stream);
    if (k <= 32) return serve_32(logits, rows, vocab, k, probs, indices, stream);
    return serve_256(logits, rows, vocab, k, probs, indices, stream);
""", BY_SIZE), "refusal"),
    "a template for each block size": (exchanged(
        (KERNEL, "template <int BLOCK>\n__global__ void __launch_bounds__(BLOCK)\n"),
        (ROW, "    static_assert(BLOCK == THREADS, \"one size\");\n" + ROW),
        (LAUNCH, LAUNCH.replace("softmax_topk_kernel<<<", "softmax_topk_kernel<THREADS><<<")),
    ), "memory_safety"),
    "two streams, joined by events": (around("""
    if (rows < 1 || k < 1 || k > vocab || k > 256) return 1;
    static cudaStream_t side = nullptr;
    static cudaEvent_t begun = nullptr, done = nullptr;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&begun, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    }
    cudaEventRecord(begun, stream);
    cudaStreamWaitEvent(side, begun);
    const int half = rows / 2;
    const size_t skip = half;
    int code = half ? honest(logits, half, vocab, k, probs, indices, side) : 0;
    code |= honest(logits + skip * vocab, rows - half, vocab, k, probs + skip * k, indices + skip * k, stream);
    cudaEventRecord(done, side);
    cudaStreamWaitEvent(stream, done);
    return code;
"""), "rows"),
    "words printed when the environment asks for them": (around(
        '    if (getenv("SOFTMAX_DEBUG")) fprintf(stderr, "rows %d vocab %d k %d\\n", rows, vocab, k);\n' + CALL,
        "#include <cstdio>\n#include <cstdlib>\n"), "shapes"),
    "assertions on both sides": (exchanged(
        (INCLUDED, INCLUDED + "#include <assert.h>\n"),
        (ROW, ROW + "    assert(k <= vocab);\n"),
        (LAUNCH, "    assert(logits && probs && indices);\n" + LAUNCH)), "memory_safety"),
    "scratch below the limit": (around("""
    void* scratch = nullptr;
    if (cudaMallocAsync(&scratch, 1024, stream) != cudaSuccess) return 1;
    cudaMemsetAsync(scratch, 0, 1024, stream);
    const int code = honest(logits, rows, vocab, k, probs, indices, stream);
    cudaFreeAsync(scratch, stream);
    return code;
"""), "no_intermediate"),
    "code that depends on the compiler and the architecture": (exchanged(
        (INCLUDED, INCLUDED + "#ifdef __CUDACC__\n#define ON_DEVICE 1\n#endif\n"),
        (ROW, "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800\n    const int probe = 8;\n#else\n"
              "    const int probe = 7;\n#endif\n    (void)probe;\n" + ROW)), "memory_safety"),
    "bits moved by memcpy": (exchanged(
        (INCLUDED, INCLUDED + "#include <string.h>\n"),
        ("    const uint32_t bits = __float_as_uint(logit);\n",
         "    uint32_t bits;\n    memcpy(&bits, &logit, sizeof bits);\n")), "memory_safety"),
    "an attribute set once, under a lock": (around(
        "    static std::once_flag once;\n    static std::mutex lock;\n    std::call_once(once, [] { "
        "cudaFuncSetCacheConfig(reinterpret_cast<const void*>(softmax_topk_kernel), cudaFuncCachePreferShared); });\n"
        "    std::lock_guard<std::mutex> held(lock);\n" + CALL, "#include <mutex>\n"), "refusal"),
    "words that attributes use, as names": (around(
        "    const int section = rows, alias = vocab, naked = k;\n"
        "    return honest(logits, section, alias, naked, probs, indices, stream);",
        "// asm, syscall and no_sanitize are only mentioned: \"emu_report\"\n"
        "[[maybe_unused]] __attribute__((aligned(16))) static const float TABLE[4] = {};\n"), "refusal"),
    "a table that a constructor fills": (around(
        "    return sizes.known(k) || k < 0 || k > 256 ? honest(logits, rows, vocab, k, probs, indices, stream) : 1;",
        "#include <map>\n#include <string>\nnamespace {\nstruct Sizes {\n    std::map<int, std::string> names;\n"
        "    Sizes() { for (int k = 0; k <= 256; ++k) names[k] = \"k\" + std::to_string(k); }\n"
        "    bool known(int k) const { return names.count(k) > 0; }\n};\nconst Sizes sizes;\n}\n"), "refusal"),
}  # fmt: skip
ATTACKS = tuple(
    Attack(f"{name}, in CUDA", KIND, CHALLENGE, {"answer.cu": source}, ("answer.cu",), (criterion,), Expect.HONEST)
    for name, (source, criterion) in TWINS.items()
)
