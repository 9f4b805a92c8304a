// Causal attention of one head in one pass over the keys: tiles in shared memory, running maximum and sum.
#include "device.h"

constexpr int D = 32, TILE = 32;

__global__ void attention(float* out, const float* q, const float* k, const float* v, int length) {
    __shared__ float ks[TILE][D + 1], vs[TILE][D + 1];
    int i = blockIdx.x * TILE + threadIdx.x;
    float query[D], sum[D], largest = -INFINITY, weight = 0.0f;
    for (int d = 0; d < D; ++d) {
        query[d] = i < length ? q[i * D + d] * rsqrtf(float(D)) : 0.0f;
        sum[d] = 0.0f;
    }
    for (int first = 0; first <= int(blockIdx.x) * TILE; first += TILE) {
        for (int j = 0; j < TILE; ++j) {
            bool there = first + j < length;
            ks[j][threadIdx.x] = there ? k[(first + j) * D + threadIdx.x] : 0.0f;
            vs[j][threadIdx.x] = there ? v[(first + j) * D + threadIdx.x] : 0.0f;
        }
        __syncthreads();
        for (int j = 0; j < TILE && first + j <= i && i < length; ++j) {
            float score = 0.0f;
            for (int d = 0; d < D; ++d) {
                score += query[d] * ks[j][d];
            }
            float before = largest;
            largest = fmaxf(largest, score);
            float shrink = __expf(before - largest), p = __expf(score - largest);
            weight = weight * shrink + p;
            for (int d = 0; d < D; ++d) {
                sum[d] = sum[d] * shrink + p * vs[j][d];
            }
        }
        __syncthreads();
    }
    if (i < length) {
        for (int d = 0; d < D; ++d) {
            out[i * D + d] = sum[d] / weight;
        }
    }
}

int main() {
    const int length = 75;
    std::vector<float> q = noise(length * D), k = noise(length * D, 2), v = noise(length * D, 3);
    std::vector<double> right(length * D);
    for (int i = 0; i < length; ++i) {
        double weight = 0;
        for (int j = 0; j <= i; ++j) {
            double score = 0;
            for (int d = 0; d < D; ++d) {
                score += double(q[i * D + d]) * k[j * D + d];
            }
            double p = std::exp(score / std::sqrt(double(D)));
            weight += p;
            for (int d = 0; d < D; ++d) {
                right[i * D + d] += p * v[j * D + d];
            }
        }
        for (int d = 0; d < D; ++d) {
            right[i * D + d] /= weight;
        }
    }
    Buffer<float> dq(q), dk(k), dv(v), out(length * D);
    attention<<<(length + TILE - 1) / TILE, TILE>>>(out, dq, dk, dv, length);
    return compare(out.host(), right, 1e-4);
}
