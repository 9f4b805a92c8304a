// Device variables in every form; main returns the number of the first one that went wrong.
__device__ int counter = 5, others[2] = {1, 2};
__constant__ float scale[3];
__constant__ const int table[] = {4, 5, 6};
static __device__ double hidden;
extern __device__ int declared_only;
__device__ int declared_only = 9;
namespace deep {
__device__ float inside{1.5f};
}
struct Point {
    float x, y;
};
__constant__ Point origin = {1, 2};
__device__ const float pi_ish = 3.f;
__device__ __constant__ int both = 8;
__device__ constexpr int fixed = 2;

__device__ float twice(float x) { return 2 * x; }
__device__ float thrice(float x) { return 3 * x; }
__device__ float (*chosen)(float) = twice;
__device__ float prototype(float x);

__global__ void all(float* out) {
    out[0] = counter + others[1] + scale[2] + table[2] + hidden + declared_only + deep::inside + origin.y + pi_ish + both;
    out[1] = chosen(4) + prototype(1) + fixed;
    counter = 6;
}
__device__ float prototype(float x) { return x + thrice(x); }

int main() {
    float *out, h[2], scales[3] = {1, 2, 3};
    double half = 0.5;
    int c;
    cudaMalloc(&out, sizeof(h));
    cudaMemcpyToSymbol(scale, scales, sizeof(scales));
    cudaMemcpyToSymbol(hidden, &half, sizeof(half));
    all<<<1, 1>>>(out);
    cudaMemcpy(h, out, sizeof(h), cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&c, counter, sizeof(c));
    if (h[0] != 5 + 2 + 3 + 6 + 0.5f + 9 + 1.5f + 2 + 3 + 8) return 1;
    if (h[1] != 8 + 4 + 2) return 2;
    return c == 6 && cudaGetLastError() == cudaSuccess ? 0 : 3;
}
