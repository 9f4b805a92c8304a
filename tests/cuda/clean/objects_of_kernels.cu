// Kernels that make objects on the device's heap, with constructors and destructors, and run out of it once.
#include "device.h"

__device__ int alive;

struct Shape {
    float size;
    __device__ explicit Shape(float size) : size(size) { atomicAdd(&alive, 1); }
    __device__ virtual ~Shape() { atomicSub(&alive, 1); }
    __device__ virtual float area() const = 0;
};
struct Square : Shape {
    __device__ explicit Square(float size) : Shape(size) {}
    __device__ float area() const override { return size * size; }
};
struct Slab : Shape {
    float height;
    __device__ Slab(float size, float height) : Shape(size), height(height) {}
    __device__ float area() const override { return size * height; }
};
struct Part {
    int value = 4;
    __device__ ~Part() { atomicSub(&alive, 1); }
};
struct Node {
    int value;
    Node* next;
};
__host__ __device__ Node* node_of(int value, Node* next) { return new Node{value, next}; }

__global__ void areas(float* out) {
    Shape* shape = threadIdx.x % 2 ? static_cast<Shape*>(new Slab(2, threadIdx.x)) : new Square(threadIdx.x);
    out[threadIdx.x] = shape->area();
    delete shape;
}
__global__ void lists(float* out, int n) {
    Node* list = nullptr;
    for (int i = 0; i < n; i++) list = node_of(i + threadIdx.x, list);
    float* values = new float[n]();
    Part* parts = new Part[3];
    atomicAdd(&alive, 3);
    for (int i = 0; list; i++) {
        Node* next = list->next;
        values[i] += list->value;
        delete list;
        list = next;
    }
    out[threadIdx.x] = values[0] + parts[2].value;
    delete[] parts;
    delete[] values;
    float* none = nullptr;
    delete none;
}
__global__ void too_much(float* out, size_t bytes) {
    void* block = malloc(bytes);
    out[threadIdx.x] = block == nullptr;
    free(block);
}

int main() {
    float* out;
    cudaMalloc(&out, 3 * 64 * sizeof(float));
    must(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20), "limit");
    areas<<<1, 64>>>(out);
    lists<<<1, 64>>>(out + 64, 5);
    too_much<<<1, 64>>>(out + 128, size_t(1) << 40);  // a device may round its heap up
    must(cudaDeviceSynchronize(), "kernels");
    std::vector<float> got(3 * 64), right(3 * 64);
    cudaMemcpy(got.data(), out, got.size() * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < 64; i++) {
        right[i] = i % 2 ? 2.0f * i : static_cast<float>(i) * i;
        right[64 + i] = 4.0f + i + 4;
        right[128 + i] = 1;
    }
    int left = -1;
    cudaMemcpyFromSymbol(&left, alive, sizeof left);
    got.push_back(static_cast<float>(left));
    right.push_back(0);
    Node* host = node_of(1, nullptr);
    got.push_back(static_cast<float>(host->value));
    right.push_back(1);
    delete host;
    cudaFree(out);
    return compare(got, right, 0);
}
