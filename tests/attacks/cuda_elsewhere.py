"""Work that is done elsewhere than it is graded: on the host, on another stream, or only where nobody looks."""

from tests.attacks.attack import Attack, Expect
from tests.attacks.softmax_topk import CHALLENGE, DECOY, ON_THE_HOST, alone, around, exchanged

HOST, STREAMS, TRAFFIC = "a kernel's work on the host", "work on other streams", "traffic hidden"

FIRST = "    if (k < 1 || k > vocab || k > 256) return 1;\n"
LAUNCH = "    decoy<<<1, 32, 0, stream>>>(logits, probs);\n"
POINTERS = "    solve(logits, rows, vocab, k, probs, indices);\n    return 0;"
COPIED = """
    const size_t n = static_cast<size_t>(rows) * vocab, m = static_cast<size_t>(rows) * k;
    std::vector<float> x(n), p(m);
    std::vector<int> c(m);
    cudaMemcpyAsync(x.data(), logits, n * 4, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    solve(x.data(), rows, vocab, k, p.data(), c.data());
    cudaMemcpyAsync(probs, p.data(), m * 4, cudaMemcpyHostToDevice, stream);
    cudaMemcpyAsync(indices, c.data(), m * 4, cudaMemcpyHostToDevice, stream);
    return 0;
"""
STAGED = """
    const size_t n = static_cast<size_t>(rows) * vocab, m = static_cast<size_t>(rows) * k;
    float *x, *p;
    int* c;
    ALLOCATE(&x, n * 4);
    ALLOCATE(&p, m * 4);
    ALLOCATE(&c, m * 4);
    move<<<rows, 32, 0, stream>>>(logits, x, n);
    cudaStreamSynchronize(stream);
    solve(x, rows, vocab, k, p, c);
    move<<<rows, 32, 0, stream>>>(p, probs, m);
    move<<<rows, 32, 0, stream>>>(reinterpret_cast<float*>(c), reinterpret_cast<float*>(indices), m);
    cudaStreamSynchronize(stream);
    FREE(x);
    FREE(p);
    FREE(c);
    return 0;
"""
MOVE = """
__global__ void move(const float* from, float* to, size_t n) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) to[i] = from[i];
}
"""
CALLBACK = """
struct Work { const float* logits; int rows, vocab, k; float* probs; int* indices; };
static void serve(void* work) {
    const Work& w = *static_cast<Work*>(work);
    solve(w.logits, w.rows, w.vocab, w.k, w.probs, w.indices);
}
"""
CALLED_BACK = """
    static Work work;
    work = {logits, rows, vocab, k, probs, indices};
    cudaLaunchHostFunc(stream, serve, &work);
    return 0;
"""


def own(body: str, before: str = "") -> str:
    """A source without the reference: the host's solution, the decoy, and the function with this body."""
    return alone("    (void)x; (void)p; (void)c;", FIRST + body, ON_THE_HOST + DECOY + before)


ON_HOST = {
    # fools a device whose memory the host can reach
    "the host reads and writes through device pointers": (own(POINTERS), ()),
    # fools a look at whether something was launched, too
    "the host behind a decoy kernel": (own(LAUNCH + POINTERS), ()),
    # fools hooks in compiled code: the library's own functions have none
    "the host by library functions": (
        own(LAUNCH + "    std::vector<float> x(static_cast<size_t>(rows) * vocab);\n"
            "    std::vector<int> order(x.size());\n"
            "    qsort(const_cast<float*>(logits), 1, 4, nullptr);\n" + POINTERS, "#include <cstdlib>\n"), ()),
    # fools a check of the logits' pointer alone
    "the host called back by the stream": (own(LAUNCH + CALLED_BACK, CALLBACK), ()),
    # fools a check of values
    "copied to the host and back": (own(LAUNCH + COPIED), ("no_intermediate",)),
    "copied to the host and back, nothing launched": (own(COPIED), ("memory_safety", "passes")),
    # fools a count of copies
    "by way of managed memory": (
        own(STAGED.replace("ALLOCATE", "cudaMallocManaged").replace("FREE", "cudaFree"), MOVE), ("no_intermediate",)),
    "by way of pinned memory": (
        own(STAGED.replace("ALLOCATE", "cudaMallocHost").replace("FREE", "cudaFreeHost"), MOVE), ("no_intermediate",)),
}  # fmt: skip
KERNEL = "softmax_topk_kernel<<<rows, THREADS, 0, stream>>>(logits, vocab, k, probs, indices);\n"
ON_STREAMS = {
    # fools a clock that waits for the stream it gave
    "the default stream": exchanged((KERNEL, KERNEL.replace("stream>>>", "nullptr>>>"))),
    # fools a look for the default stream
    "a stream of its own, never joined": exchanged(
        ("    " + KERNEL, "    static cudaStream_t own = nullptr;\n    if (!own) cudaStreamCreateWithFlags(&own, "
                          "cudaStreamNonBlocking);\n    " + KERNEL.replace("stream>>>", "own>>>"))),
    # fools a clock around the last launch
    "half of it on each of two streams": exchanged(
        ("    " + KERNEL, "    cudaStream_t own;\n    cudaStreamCreate(&own);\n    const int half = rows / 2;\n    if "
                          "(half) " + KERNEL.replace("<<<rows", "<<<half").replace("stream>>>", "own>>>")
         + "    logits += static_cast<size_t>(half) * vocab;\n    probs += static_cast<size_t>(half) * k;\n"
           "    indices += static_cast<size_t>(half) * k;\n    " + KERNEL.replace("<<<rows", "<<<rows - half"))),
}  # fmt: skip
SPILL = """
    float* spilt = nullptr;
    const size_t n = static_cast<size_t>(rows) * vocab;
    if (cudaMallocAsync(&spilt, n * sizeof(float), stream) != cudaSuccess) return 1;
    move<<<rows, 32, 0, stream>>>(logits, spilt, n);
    const int code = honest(spilt, rows, vocab, k, probs, indices, stream);
    cudaFreeAsync(spilt, stream);
    return code;
"""
KEPT_SPILL = """
    const size_t n = static_cast<size_t>(rows) * vocab;
    if (n > (1 << 19)) return honest(logits, rows, vocab, k, probs, indices, stream);
    void* spilt = nullptr;
    cudaGetSymbolAddress(&spilt, room);
    move<<<rows, 32, 0, stream>>>(logits, static_cast<float*>(spilt), n);
    return honest(static_cast<float*>(spilt), rows, vocab, k, probs, indices, stream);
"""
BRIGHT = """
    if (vocab == 50257) {
        bright<<<rows, 256, 0, stream>>>(logits, vocab, k, probs, indices);
        return 0;
    }
    return honest(logits, rows, vocab, k, probs, indices, stream);
"""
BRIGHT_KERNEL = """
__global__ void bright(const float* logits, int vocab, int k, float* probs, int* indices) {
    float sum = 0;
    for (int i = threadIdx.x; i < vocab; i += 256) sum += logits[static_cast<size_t>(blockIdx.x) * vocab + i];
    for (int i = threadIdx.x; i < k; i += 256) {
        probs[blockIdx.x * k + i] = sum;
        indices[blockIdx.x * k + i] = i;
    }
}
"""
NAMED = """
    if (vocab == 50257) {
        few<<<rows, 256, 0, stream>>>(vocab, k, probs, indices);
        return 0;
    }
    return honest(::logits_given(logits), rows, vocab, k, probs, indices, stream);
"""
NAMED_KERNEL = """
static const float* logits_given(const float* given) { return given; }
namespace shown {
__device__ float logits[2 * 50257];
}
__global__ void few(int vocab, int k, float* probs, int* indices) {
    float sum = 0;
    for (int i = threadIdx.x; i < vocab; i += 256) {
        float& x = shown::logits[static_cast<size_t>(blockIdx.x) * vocab + i];
        sum += x;
    }
    for (int i = threadIdx.x; i < k; i += 256) {
        probs[blockIdx.x * k + i] = sum;
        indices[blockIdx.x * k + i] = i;
    }
}
"""
MERGED = "    const Partial total = merge_block(partial);\n"
AGAIN = """
    float again = 0.0f;
    for (int pass = 0; pass < 5; ++pass) {
        for (int i = threadIdx.x; i < vocab; i += THREADS) again += row[i] * pass;
    }
    if (again == 12345.678f) probs[0] = again;
"""
IN_TRAFFIC = {
    # fools a look at the outputs alone
    "an intermediate of the logits' size": (around(SPILL, MOVE), "no_intermediate"),
    # fools a count of allocations
    "an intermediate in a device variable": (
        around(KEPT_SPILL, "__device__ float room[1 << 19];\n" + MOVE), "no_intermediate"),
    # fools counters that are read where no value is judged
    "another kernel where traffic is counted": (around(BRIGHT, BRIGHT_KERNEL), "coalescing"),
    # fools counters that go by a buffer's name
    "a device variable named as the input": (around(NAMED, NAMED_KERNEL), "passes"),
    # fools a check of values: the sum is read again for each candidate
    "the row read again and again": (exchanged((MERGED, MERGED + AGAIN)), "passes"),
}  # fmt: skip


def attack(name: str, kind: str, source: str, criteria: tuple[str, ...]) -> Attack:
    return Attack(name, kind, CHALLENGE, {"answer.cu": source}, ("answer.cu",), criteria, Expect.NO_CREDIT)


ATTACKS = (
    *(attack(name, HOST, source, criteria) for name, (source, criteria) in ON_HOST.items()),
    *(attack(name, STREAMS, source, ("stream_order",)) for name, source in ON_STREAMS.items()),
    *(attack(name, TRAFFIC, source, (criterion,)) for name, (source, criterion) in IN_TRAFFIC.items()),
)
