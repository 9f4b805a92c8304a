// What was never written is copied, or read and left out of everything that counts: sums of it are stored in shared memory
// and looked at by nobody.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include "expected.h"

struct Mixed {
    char letter;
    int number;
};
struct Padded {
    double value;
    int number;
};
struct Long {
    float used[3];
    float spare[9];
};

__global__ void fill_mixed(Mixed* x) {
    x[threadIdx.x].letter = 'x';
    x[threadIdx.x].number = threadIdx.x;
}

__global__ void fill_padded(Padded* x) {
    x[threadIdx.x].value = threadIdx.x;
    x[threadIdx.x].number = threadIdx.x;
}

__global__ void fill_long(Long* x) {
    for (int i = 0; i < 3; ++i) {
        x[threadIdx.x].used[i] = threadIdx.x;
    }
}

template <class T>
__global__ void copied(T* to, const T* from) {
    to[threadIdx.x] = from[threadIdx.x];
}

__global__ void copied_as_words(int* to, const int* from, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        to[i] = from[i];
    }
}

__global__ void copied_by_memcpy(Long* to, const Long* from) {
    memcpy(to + threadIdx.x, from + threadIdx.x, sizeof(Long));
}

__global__ void through_a_tile(Long* to, const Long* from) {
    __shared__ Long tile[32];
    tile[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = tile[31 - threadIdx.x];
}

__global__ void through_registers(float* to, const float* from) {
    float held[4];
    for (int i = 0; i < 4; ++i) {
        held[i] = from[threadIdx.x * 4 + i];
    }
    __syncthreads();
    for (int i = 0; i < 4; ++i) {
        to[threadIdx.x * 4 + i] = held[i];
    }
}

__global__ void through_lanes(float* to, const float* from) {
    float value = from[threadIdx.x];
    to[threadIdx.x] = __shfl_xor_sync(0xffffffff, value, 1);
}

__global__ void transposed(float* to, const float* from) {
    __shared__ float tile[8][9];
    int row = threadIdx.x / 8, column = threadIdx.x % 8;
    tile[row][column] = from[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = tile[column][row];
}

__global__ void swapped_in_place(float* x) {
    float first = x[2 * threadIdx.x], second = x[2 * threadIdx.x + 1];
    x[2 * threadIdx.x] = second;
    x[2 * threadIdx.x + 1] = first;
}

__global__ void copied_ahead(float4* to, const float4* from) {
    __shared__ float4 tile[32];
    __pipeline_memcpy_async(&tile[threadIdx.x], &from[threadIdx.x], sizeof(float4));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    to[threadIdx.x] = tile[threadIdx.x];
}

__global__ void used_where_written(float* out, const Mixed* x) {
    Mixed own = x[threadIdx.x];
    out[threadIdx.x] = own.number + (own.letter == 'x');
}

__global__ void written_after_the_copy(float* out, float* copy) {
    if (threadIdx.x >= 50) {
        copy[threadIdx.x] = threadIdx.x;
    }
    __syncthreads();
    out[threadIdx.x] = 2 * copy[threadIdx.x];
}

__device__ unsigned scanned(unsigned sum, int lane) {
    for (int i = 1; i < 32; i *= 2) {
        unsigned below = __shfl_up_sync(0xffffffff, sum, i);
        if (lane >= i) {
            sum += below;
        }
    }
    return sum;
}

// A whole warp adds up the sums of two.
__global__ void scanned_by_a_warp(unsigned* out, const unsigned* x) {
    __shared__ unsigned sums[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned sum = scanned(x[threadIdx.x], lane);
    if (lane == 31) {
        sums[warp] = sum;
    }
    __syncthreads();
    if (warp == 0) {
        sums[lane] = scanned(sums[lane], lane);
    }
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = sum + (warp ? sums[warp - 1] : 0);
}

// A tree is built over the next power of two.
__global__ void scanned_as_a_tree(unsigned short* out, const unsigned short* x, int n) {
    __shared__ unsigned short list[64];
    int t = threadIdx.x, step = 1;
    if (t < n) {
        list[t] = x[t];
    }
    for (int d = 32; d > 0; d /= 2, step *= 2) {
        __syncthreads();
        if (t < d) {
            list[step * (2 * t + 2) - 1] += list[step * (2 * t + 1) - 1];
        }
    }
    for (int d = 2; d < 64; d *= 2) {
        step /= 2;
        __syncthreads();
        if (t < d - 1) {
            int from = step * (t + 1) - 1;
            list[from + step / 2] += list[from];
        }
    }
    __syncthreads();
    if (t < n) {
        out[t] = list[t];
    }
}

__global__ void differences(float* out, const float* x, int n) {
    float here = x[threadIdx.x], next = x[threadIdx.x + 1];
    if (threadIdx.x < n - 1) {
        out[threadIdx.x] = next - here;
    }
}

int main() {
    Mixed *mixed, *mixed_copy;
    Padded *padded, *padded_copy;
    Long *lengthy, *long_copy;
    cudaMalloc(&mixed, 32 * sizeof(Mixed));
    cudaMalloc(&mixed_copy, 32 * sizeof(Mixed));
    cudaMalloc(&padded, 32 * sizeof(Padded));
    cudaMalloc(&padded_copy, 32 * sizeof(Padded));
    cudaMalloc(&lengthy, 32 * sizeof(Long));
    cudaMalloc(&long_copy, 32 * sizeof(Long));
    fill_mixed<<<1, 32>>>(mixed);
    fill_padded<<<1, 32>>>(padded);
    fill_long<<<1, 32>>>(lengthy);
    copied<<<1, 32>>>(mixed_copy, mixed);
    copied<<<1, 32>>>(padded_copy, padded);
    copied<<<1, 32>>>(long_copy, lengthy);
    float *part = counting<float>(256, 50), *to = zeros<float>(256), *out = zeros<float>(256);
    used_where_written<<<1, 32>>>(out, mixed_copy);
    expect("used_where_written", out, 32, [](int i) { return i + 1; });
    copied_as_words<<<1, 32>>>(reinterpret_cast<int*>(mixed_copy), reinterpret_cast<int*>(mixed), 64);
    used_where_written<<<1, 32>>>(out, mixed_copy);
    copied_by_memcpy<<<1, 32>>>(long_copy, lengthy);
    through_a_tile<<<1, 32>>>(long_copy, lengthy);
    Long back[32];
    cudaMemcpy(back, long_copy, sizeof(back), cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; ++i) {
        wrong |= back[i].used[2] != 31 - i;
    }
    copied<<<1, 64>>>(to, part);
    expect("copied", to, 50, [](int i) { return i; });
    written_after_the_copy<<<1, 64>>>(out, to);
    expect("written_after_the_copy", out, 64, [](int i) { return 2 * i; });
    copied<<<1, 64>>>(reinterpret_cast<float4*>(to), reinterpret_cast<const float4*>(part));
    through_registers<<<1, 64>>>(to, part);
    expect("through_registers", to, 50, [](int i) { return i; });
    through_lanes<<<1, 64>>>(to, part);
    expect("through_lanes", to, 50, [](int i) { return i ^ 1; });
    transposed<<<1, 64>>>(to, part);
    expect("transposed", to, 6, [](int i) { return i * 8; });
    swapped_in_place<<<1, 64>>>(part);
    expect("swapped_in_place", part, 50, [](int i) { return i ^ 1; });
    copied_ahead<<<1, 32>>>(reinterpret_cast<float4*>(to), reinterpret_cast<const float4*>(part));
    expect("copied_ahead", to, 50, [](int i) { return i ^ 1; });
    copied<<<1, 64>>>(zeros<half>(), counting<half>(64, 40));
    copied<<<1, 64>>>(zeros<__nv_bfloat16>(), counting<__nv_bfloat16>(64, 40));
    copied<<<1, 64>>>(zeros<double>(), counting<double>(64, 40));
    copied<<<1, 64>>>(zeros<char>(), counting<char>(64, 40));
    copied<<<1, 64>>>(zeros<short>(), counting<short>(64, 40));
    copied<<<1, 64>>>(zeros<bool>(), reinterpret_cast<const bool*>(counting<char>(64, 2)));
    copied<<<1, 32>>>(zeros<float2>(), reinterpret_cast<const float2*>(counting<float>(64, 41)));
    unsigned* sums = zeros<unsigned>(640);
    scanned_by_a_warp<<<10, 64>>>(sums, counting<unsigned>(64, 64));
    expect("scanned_by_a_warp", sums, 640, [](int i) { return (i % 64) * (i % 64 + 1) / 2; });
    unsigned short* short_sums = zeros<unsigned short>();
    scanned_as_a_tree<<<1, 64>>>(short_sums, counting<unsigned short>(64, 50), 50);
    expect("scanned_as_a_tree", short_sums, 50, [](int i) { return i * (i + 1) / 2; });
    differences<<<1, 64>>>(out, counting<float>(65, 50), 50);
    expect("differences", out, 49, [](int) { return 1; });
    return wrong;
}
