// Softmax and top-k as two kernels with the whole softmax between them: what the fused kernel is compared with.
#pragma once

#include <cuda_runtime.h>

/// The same as fused_softmax_topk, for any k; `softmax` is (rows, vocab) of scratch on the device.
int naive_softmax_topk(const float* logits, int rows, int vocab, int k, float* softmax, float* probs, int* indices,
                       cudaStream_t stream);
