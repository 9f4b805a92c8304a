// The contract's function over the model's launcher: the smallest heap that holds k, rows as B * T with T = 1. The launcher
// takes no stream.
#include "fused_softmax_topk.cu"

template <int K>
static void launch(const float* logits, int rows, int vocab, int k, float* probs, int* indices) {
    launch_fused_softmax_topk<K>(logits, probs, indices, rows, 1, vocab, k);
}

extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t) {
    if (rows < 1 || k < 1 || k > vocab || k > 256) return 1;
    if (k <= 16) launch<16>(logits, rows, vocab, k, probs, indices);
    else if (k <= 64) launch<64>(logits, rows, vocab, k, probs, indices);
    else launch<256>(logits, rows, vocab, k, probs, indices);
    return cudaGetLastError() == cudaSuccess ? 0 : 2;
}
