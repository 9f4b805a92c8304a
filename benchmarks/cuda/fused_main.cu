// A program around an answer to fused_softmax_topk: a few rows at the vocabulary of GPT-2, checked for order.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream);

int main() {
    const int rows = 4, vocab = 50257, k = 50;
    std::vector<float> host(size_t(rows) * vocab), probs(rows * k);
    for (size_t i = 0; i < host.size(); ++i) {
        host[i] = float(i * 2654435761u % 100003) / 10000.0f;
    }
    float *logits, *found;
    int* indices;
    cudaMalloc(&logits, host.size() * sizeof(float));
    cudaMalloc(&found, probs.size() * sizeof(float));
    cudaMalloc(&indices, probs.size() * sizeof(int));
    cudaMemcpy(logits, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
    int error = fused_softmax_topk(logits, rows, vocab, k, found, indices, 0);
    cudaMemcpy(probs.data(), found, probs.size() * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < rows * k; ++i) {
        if (!(probs[i] > 0.0f) || (i % k != 0 && !(probs[i] <= probs[i - 1]))) {
            printf("entry %d is out of order\n", i);
            return 1;
        }
    }
    return error;
}
