// Compares the kernel with a CPU reference on random logits: nvcc -o test test_fused_softmax_topk.cu && ./test
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "fused_softmax_topk.cu"

static void cpu_softmax_topk(const float* logits, int V, int K, std::vector<float>& probs, std::vector<int>& indices) {
    float m = *std::max_element(logits, logits + V);
    double sum = 0.0;
    for (int v = 0; v < V; ++v) sum += std::exp(static_cast<double>(logits[v] - m));

    indices.resize(V);
    std::iota(indices.begin(), indices.end(), 0);
    std::partial_sort(indices.begin(), indices.begin() + K, indices.end(),
                      [&](int a, int b) { return logits[a] > logits[b]; });
    indices.resize(K);
    probs.resize(K);
    for (int i = 0; i < K; ++i) probs[i] = static_cast<float>(std::exp(static_cast<double>(logits[indices[i]] - m)) / sum);
}

static bool verify(const std::vector<float>& logits, const std::vector<float>& probs, const std::vector<int>& indices,
                   int rows, int V, int K) {
    std::vector<float> expected_probs;
    std::vector<int> expected_indices;
    for (int row = 0; row < rows; ++row) {
        cpu_softmax_topk(logits.data() + static_cast<size_t>(row) * V, V, K, expected_probs, expected_indices);
        for (int i = 0; i < K; ++i) {
            float error = std::fabs(probs[row * K + i] - expected_probs[i]);
            if (indices[row * K + i] != expected_indices[i] || !(error <= 1e-5f)) {
                std::printf("row %d, place %d: index %d (expected %d), probability %g (expected %g)\n", row, i,
                            indices[row * K + i], expected_indices[i], probs[row * K + i], expected_probs[i]);
                return false;
            }
        }
    }
    return true;
}

int main() {
    const int B = 4, T = 8, V = 1024, K = 10, rows = B * T;
    std::vector<float> logits(static_cast<size_t>(rows) * V);
    std::srand(42);
    for (float& x : logits) x = 10.0f * std::rand() / RAND_MAX - 5.0f;

    float *d_logits, *d_probs;
    int* d_indices;
    cudaMalloc(&d_logits, logits.size() * sizeof(float));
    cudaMalloc(&d_probs, rows * K * sizeof(float));
    cudaMalloc(&d_indices, rows * K * sizeof(int));
    cudaMemcpy(d_logits, logits.data(), logits.size() * sizeof(float), cudaMemcpyHostToDevice);

    launch_fused_softmax_topk(d_logits, d_probs, d_indices, B, T, V, K);
    cudaDeviceSynchronize();

    std::vector<float> probs(rows * K);
    std::vector<int> indices(rows * K);
    cudaMemcpy(probs.data(), d_probs, probs.size() * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(indices.data(), d_indices, indices.size() * sizeof(int), cudaMemcpyDeviceToHost);

    bool ok = verify(logits, probs, indices, rows, V, K);
    std::printf("%s\n", ok ? "PASSED" : "FAILED");
    cudaFree(d_logits);
    cudaFree(d_probs);
    cudaFree(d_indices);
    return ok ? 0 : 1;
}
