// Softmax in one pass: the largest logit so far, and the sum of exponentials relative to it.
#pragma once

#include <float.h>
#include <math.h>

/// Sum of exp(logit - max) over the logits seen; no exponent is ever positive.
struct Softmax {
    float max;
    float sum;

    /// Take N logits, those of -inf adding nothing; rescales at most once.
    template <int N>
    __device__ void add(const float (&logits)[N]) {
        float top = logits[0];
#pragma unroll
        for (int i = 1; i < N; ++i) top = fmaxf(top, logits[i]);
        if (top > max) {
            sum *= expf(max - top);
            max = top;
        }
#pragma unroll
        for (int i = 0; i < N; ++i) sum += expf(logits[i] - max);
    }

    /// Take what another thread saw.
    __device__ void merge(const Softmax& other) {
        const float top = fmaxf(max, other.max);
        sum = sum * expf(max - top) + other.sum * expf(other.max - top);
        max = top;
    }

    /// The softmax of one logit, once the whole row was taken.
    __device__ float probability(float logit) const { return expf(logit - max) / sum; }
};

/// Before the first logit. The maximum is finite, so that a first logit of -inf gives exp(-inf), not exp(-inf + inf).
constexpr Softmax NOTHING_SEEN = {-FLT_MAX, 0.0f};
