// The fused and the naive kernels against the CPU, on the same logits. Exit code 1 when either is wrong.
//   nvcc -std=c++17 -o compare compare.cu fused_softmax_topk.cu naive.cu && ./compare [rows vocab k]
#include "fused_softmax_topk.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "naive.h"

namespace {

/// k probabilities and columns of every row.
struct Result {
    std::vector<float> probs;
    std::vector<int> indices;
};

struct Problem {
    int rows, vocab, k;
    std::vector<float> logits;
};

/// Logits of spread 3, another offset in every row.
Problem draw(int rows, int vocab, int k) {
    Problem problem{rows, vocab, k, std::vector<float>(static_cast<size_t>(rows) * vocab)};
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0.0f, 3.0f);
    for (size_t i = 0; i < problem.logits.size(); ++i) problem.logits[i] = normal(random) + 40.0f * (i / vocab);
    return problem;
}

/// The answer in double precision; equal logits by column.
Result on_cpu(const Problem& problem) {
    Result result;
    std::vector<int> order(problem.vocab);
    for (int r = 0; r < problem.rows; ++r) {
        const float* row = &problem.logits[static_cast<size_t>(r) * problem.vocab];
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + problem.k, order.end(),
                          [=](int a, int b) { return row[a] > row[b] || (row[a] == row[b] && a < b); });
        const double max = row[order[0]];
        double sum = 0.0;
        for (int column = 0; column < problem.vocab; ++column) sum += std::exp(row[column] - max);
        for (int i = 0; i < problem.k; ++i) {
            result.indices.push_back(order[i]);
            result.probs.push_back(static_cast<float>(std::exp(row[order[i]] - max) / sum));
        }
    }
    return result;
}

/// Run `kernels(logits, scratch, probs, indices, stream)` on the device.
template <class Kernels>
Result on_device(const Problem& problem, Kernels kernels) {
    const size_t outputs = static_cast<size_t>(problem.rows) * problem.k;
    const size_t bytes = problem.logits.size() * sizeof(float);
    Result result{std::vector<float>(outputs), std::vector<int>(outputs)};
    float *logits, *scratch, *probs;
    int* indices;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMalloc(&logits, bytes);
    cudaMalloc(&scratch, bytes);
    cudaMalloc(&probs, outputs * sizeof(float));
    cudaMalloc(&indices, outputs * sizeof(int));
    cudaMemcpyAsync(logits, problem.logits.data(), bytes, cudaMemcpyHostToDevice, stream);
    const int code = kernels(logits, scratch, probs, indices, stream);
    cudaMemcpyAsync(result.probs.data(), probs, outputs * sizeof(float), cudaMemcpyDeviceToHost, stream);
    cudaMemcpyAsync(result.indices.data(), indices, outputs * sizeof(int), cudaMemcpyDeviceToHost, stream);
    const cudaError_t error = cudaStreamSynchronize(stream);
    if (code != 0 || error != cudaSuccess) std::printf("launch: code %d, %s\n", code, cudaGetErrorString(error));
    for (void* memory : {static_cast<void*>(logits), static_cast<void*>(scratch), static_cast<void*>(probs),
                         static_cast<void*>(indices)})
        cudaFree(memory);
    cudaStreamDestroy(stream);
    return result;
}

/// Say how far off a result is. Right: every index, and probabilities to 1e-5 of themselves, 80 roundings of a float.
bool right(const char* name, const Result& got, const Result& expected) {
    size_t wrong = 0;
    double error = 0.0;
    for (size_t i = 0; i < expected.probs.size(); ++i) {
        wrong += got.indices[i] != expected.indices[i];
        const double relative = std::fabs(got.probs[i] - expected.probs[i]) / expected.probs[i];
        error = relative <= error ? error : relative;  // a NaN is kept
    }
    std::printf("%-6s %zu of %zu indices wrong, largest relative error %.1e\n", name, wrong, got.probs.size(), error);
    return wrong == 0 && error <= 1e-5;
}

}  // namespace

int main(int arguments, char** words) {
    const auto number = [=](int i, int otherwise) { return arguments > i ? std::atoi(words[i]) : otherwise; };
    const Problem problem = draw(number(1, 4), number(2, 5003), number(3, 50));
    const int rows = problem.rows, vocab = problem.vocab, k = problem.k;
    const Result expected = on_cpu(problem);
    const auto fused = [=](float* logits, float*, float* probs, int* indices, cudaStream_t stream) {
        return fused_softmax_topk(logits, rows, vocab, k, probs, indices, stream);
    };
    const auto naive = [=](float* logits, float* scratch, float* probs, int* indices, cudaStream_t stream) {
        return naive_softmax_topk(logits, rows, vocab, k, scratch, probs, indices, stream);
    };
    const bool fused_right = right("fused", on_device(problem, fused), expected);
    const bool naive_right = right("naive", on_device(problem, naive), expected);
    return fused_right && naive_right ? 0 : 1;
}
