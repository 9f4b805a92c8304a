// Fused softmax and top-k of the rows of a matrix.
#pragma once

#include <cuda_runtime.h>

/// The largest k that is served.
constexpr int MAX_K = 256;

/// Probabilities and columns of the k largest logits of every row, largest first; equal logits in order of columns.
///
/// logits   (rows, vocab), row-major, on the device; any 4-byte alignment.
/// k        1 to min(vocab, MAX_K).
/// probs    (rows, k): softmax over the whole row, not over the k.
/// indices  (rows, k).
/// stream   what the work is ordered on; the call returns before it is done.
///
/// Returns 0, or a CUDA error code. Arguments outside these limits are refused with cudaErrorInvalidValue before
/// anything is written. A logit of -inf has probability 0. Rows with NaN or +inf, or with -inf alone, give something of
/// no meaning and do not affect other rows.
extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream);
