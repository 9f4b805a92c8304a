// The function an answer to `fused_softmax_topk` exports. Declare the same, or hand in a copy of this file with the answer.
#pragma once

#include <cuda_runtime.h>

/// The k largest softmax probabilities of each row, with their columns.
///
/// All pointers are device pointers, aligned as their numbers are and no more. Work is put on `stream` and may still run
/// when the function returns.
///
/// logits   (rows, vocab), row-major; never changed
/// rows     1 or more
/// vocab    1 or more, any number
/// k        1 to min(vocab, max_k); max_k is 256 unless submission.toml states another under [capabilities]
/// probs    (rows, k): probabilities over the whole row, in descending order
/// indices  (rows, k): the column of each, all different; equal logits in any order
///
/// Returns 0, or another code for a k that is not served (k < 1, k > vocab, k > max_k); then nothing was written.
///
/// A logit of -inf has probability 0. Where fewer than k logits are finite the rest are other columns, with
/// probability 0. What becomes of a row with NaN or +inf, or with nothing but -inf, is not specified; it must not
/// disturb other rows.
extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream);
