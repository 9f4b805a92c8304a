// y = a x + y over any number of elements: four at a time, the rest one by one.
#include "device.h"

__global__ void axpy(float* __restrict__ y, const float* __restrict__ x, float a, int n) {
    int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
    float4* y4 = reinterpret_cast<float4*>(y);
    const float4* x4 = reinterpret_cast<const float4*>(x);
    for (int i = first; i < n / 4; i += stride) {
        float4 u = x4[i], v = y4[i];
        v.x += a * u.x;
        v.y += a * u.y;
        v.z += a * u.z;
        v.w += a * u.w;
        y4[i] = v;
    }
    for (int i = n / 4 * 4 + first; i < n; i += stride) {
        y[i] += a * x[i];
    }
}

int main() {
    const int n = 1027;
    std::vector<float> x = noise(n), y = noise(n, 2);
    std::vector<double> right(n);
    for (int i = 0; i < n; ++i) {
        right[i] = y[i] + 0.75 * x[i];
    }
    Buffer<float> dx(x), dy(y);
    axpy<<<2, 96>>>(dy, dx, 0.75f, n);
    return compare(dy.host(), right, 1e-6);
}
