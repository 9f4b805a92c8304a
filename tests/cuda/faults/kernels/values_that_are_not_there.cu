// What was never written reaches a decision, an address or a result. Kernels without a marked line only copy it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdio>

#include "device.h"

struct Mixed {
    char letter;
    int number;
};

__global__ void flag_decides(int* out, const int* flags) {
    if (flags[threadIdx.x] > 0) {  // FAULT uninitialized_read
        out[threadIdx.x] = 1;
    }
}

__global__ void byte_decides(int* out, const unsigned char* flags) {
    if (flags[threadIdx.x]) {  // FAULT uninitialized_read
        out[threadIdx.x] = 1;
    }
}

__global__ void index_is_an_address(int* out, const int* order) {
    out[order[threadIdx.x] & 63] = 1;  // FAULT uninitialized_read
}

__global__ void length_of_a_loop(int* out, const int* lengths) {
    for (int i = 0; i < (lengths[threadIdx.x] & 3); ++i) {  // FAULT uninitialized_read
        out[threadIdx.x * 4 + i] = 1;
    }
}

__global__ void make_letters(Mixed* x) {
    x[threadIdx.x].letter = 'a';
    x[threadIdx.x].number = 1;
}

__global__ void copy_letters(Mixed* to, const Mixed* from) { to[threadIdx.x] = from[threadIdx.x]; }

__global__ void hash_with_padding(unsigned* out, const Mixed* x) {
    const unsigned* words = reinterpret_cast<const unsigned*>(x);
    unsigned hash = 17;
    for (int i = 0; i < 2; ++i) {
        hash = hash * 31 + words[threadIdx.x * 2 + i];  // FAULT uninitialized_read
    }
    out[threadIdx.x] = hash;
}

__global__ void added_to_nothing(float* sum, const float* x) {
    sum[threadIdx.x] += x[threadIdx.x];  // FAULT uninitialized_read
}

__global__ void sum_with_the_tail(float* out, const float* x, int padded) {
    float sum = 0;
    for (int i = threadIdx.x; i < padded; i += blockDim.x) {
        sum += x[i];  // FAULT uninitialized_read
    }
    out[threadIdx.x] = sum;
}

__global__ void edge_of_a_tile(float* out, const float* x) {
    __shared__ float tile[66];
    int t = threadIdx.x;
    tile[t + 1] = x[t];
    __syncthreads();
    out[t] = tile[t] + tile[t + 1] + tile[t + 2];  // FAULT uninitialized_read
}

__global__ void copy_all(float* to, const float* from) { to[threadIdx.x] = from[threadIdx.x]; }

__global__ void uses_the_copy(float* out, const float* copy) {
    out[threadIdx.x] = 2 * copy[threadIdx.x];  // FAULT uninitialized_read
}

__global__ void doubled_halves(half* out, const half* x) {
    out[threadIdx.x] = __hadd(x[threadIdx.x], x[threadIdx.x]);  // FAULT uninitialized_read
}

__global__ void doubled_bfloats(__nv_bfloat16* out, const __nv_bfloat16* x) {
    out[threadIdx.x] = __hadd(x[threadIdx.x], x[threadIdx.x]);  // FAULT uninitialized_read
}

__global__ void doubles_plus_one(double* out, const double* x) {
    out[threadIdx.x] = x[threadIdx.x] + 1.0;  // FAULT uninitialized_read
}

__global__ void one_of_four(float4* out, const float4* x) {
    float4 v = x[threadIdx.x];  // FAULT uninitialized_read
    v.w = v.x + v.w;
    out[threadIdx.x] = v;
}

__global__ void added_over_lanes(float* out, const float* x) {
    float v = x[threadIdx.x];  // FAULT uninitialized_read
    v += __shfl_xor_sync(0xffffffff, v, 1);
    out[threadIdx.x] = v;
}

__global__ void added_atomically(float* sum, const float* x) {
    atomicAdd(sum, x[threadIdx.x]);  // FAULT uninitialized_read
}

__global__ void largest_of_all(int* out, const int* x) {
    int largest = -5;
    for (int i = 0; i < 64; ++i) {
        largest = max(largest, x[i]);  // FAULT uninitialized_read
    }
    out[threadIdx.x] = largest;
}

__global__ void heap_of_the_device(int* out) {
    int* own = static_cast<int*>(malloc(16 * sizeof(int)));
    own[0] = 1;
    out[threadIdx.x] = own[0] + own[1];  // FAULT uninitialized_read
    free(own);
}

__global__ void kept_and_added(float* out, const float* x) {
    float v = x[threadIdx.x];  // FAULT uninitialized_read
    out[threadIdx.x] = v;
    out[threadIdx.x + 64] = v + 1;
}

__global__ void forgotten_input(float* out, const float* x) {
    out[threadIdx.x] = x[threadIdx.x];  // FAULT uninitialized_read
}

__global__ void tile_that_nobody_filled(float* out) {
    __shared__ float tile[64];
    out[threadIdx.x] = tile[threadIdx.x];  // FAULT uninitialized_read
}

__global__ void total_of_missing_warps(unsigned* out, const unsigned* x) {
    __shared__ unsigned sums[32];
    int lane = threadIdx.x % 32;
    if (lane == 31) {
        sums[threadIdx.x / 32] = x[threadIdx.x];
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        unsigned sum = sums[lane];  // FAULT uninitialized_read
        for (int i = 1; i < 32; i *= 2) {
            unsigned below = __shfl_up_sync(0xffffffff, sum, i);
            sum += lane >= i ? below : 0;
        }
        sums[lane] = sum;
    }
    __syncthreads();
    out[threadIdx.x] = x[threadIdx.x] + sums[31];
}

__global__ void sum_in_a_tile_decides(int* out, const int* x) {
    __shared__ int tile[64];
    if (threadIdx.x < 60) {
        tile[threadIdx.x] = x[threadIdx.x];
    }
    for (int half = 32; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            tile[threadIdx.x] += tile[threadIdx.x + half];  // FAULT uninitialized_read
        }
    }
    if (threadIdx.x == 0 && tile[0] > 10) {
        out[0] = 1;
    }
}

__global__ void sum_in_a_tile_is_an_address(int* out, const int* x) {
    __shared__ int tile[64];
    if (threadIdx.x < 63) {
        tile[threadIdx.x] = x[threadIdx.x];
    }
    __syncthreads();
    if (threadIdx.x > 0) {
        tile[threadIdx.x] += 3;  // FAULT uninitialized_read
    }
    __syncthreads();
    out[tile[threadIdx.x] & 127] = 1;
}

__global__ void one_of_many_states(int* out, const int* state) {
    if (state[threadIdx.x] == 5) {  // FAULT uninitialized_read
        out[threadIdx.x] = 1;
    }
}

__global__ void it_is_printed(const int* x) {
    if (threadIdx.x == 63) {
        printf("%d\n", x[threadIdx.x]);  // FAULT uninitialized_read
    }
}

__global__ void only_the_last_block(int* out, const int* x) {
    __shared__ int tile[64];
    if (threadIdx.x < 60) {
        tile[threadIdx.x] = x[threadIdx.x];
    }
    __syncthreads();
    tile[threadIdx.x] += 1;  // FAULT uninitialized_read
    if (threadIdx.x < 60 || blockIdx.x == gridDim.x - 1) {
        out[threadIdx.x] = tile[threadIdx.x];
    }
}

__global__ void off_the_alignment(float4* out, const float* x) {
    out[threadIdx.x] = *reinterpret_cast<const float4*>(x + 1 + 4 * threadIdx.x);  // FAULT misaligned
}

int main() {
    flag_decides<<<1, 64>>>(zeros<int>(), partly<int>(64, 60));
    byte_decides<<<1, 64>>>(zeros<int>(), partly<unsigned char>(64, 60));
    index_is_an_address<<<1, 64>>>(zeros<int>(), partly<int>(64, 63));
    length_of_a_loop<<<1, 64>>>(zeros<int>(), partly<int>(64, 60));
    Mixed *mixed = partly<Mixed>(64, 0), *copy = partly<Mixed>(64, 0), back[64];
    make_letters<<<1, 64>>>(mixed);
    copy_letters<<<1, 64>>>(copy, mixed);
    cudaMemcpy(back, copy, sizeof(back), cudaMemcpyDeviceToHost);
    hash_with_padding<<<1, 64>>>(zeros<unsigned>(), copy);
    added_to_nothing<<<1, 64>>>(partly<float>(64, 0), zeros<float>());
    sum_with_the_tail<<<1, 64>>>(zeros<float>(), partly<float>(256, 200), 256);
    edge_of_a_tile<<<1, 64>>>(zeros<float>(), zeros<float>());
    float *part = partly<float>(64, 50), *same = zeros<float>(64), seen[64];
    copy_all<<<1, 64>>>(same, part);
    cudaMemcpy(seen, same, sizeof(seen), cudaMemcpyDeviceToHost);
    uses_the_copy<<<1, 64>>>(zeros<float>(), same);
    doubled_halves<<<1, 64>>>(zeros<half>(), partly<half>(64, 50));
    doubled_bfloats<<<1, 64>>>(zeros<__nv_bfloat16>(), partly<__nv_bfloat16>(64, 50));
    doubles_plus_one<<<1, 64>>>(zeros<double>(), partly<double>(64, 50));
    one_of_four<<<1, 64>>>(zeros<float4>(), partly<float4>(64, 50));
    added_over_lanes<<<1, 64>>>(zeros<float>(), partly<float>(64, 50));
    added_atomically<<<1, 64>>>(zeros<float>(), partly<float>(64, 50));
    largest_of_all<<<1, 64>>>(zeros<int>(), partly<int>(64, 50));
    heap_of_the_device<<<1, 2>>>(zeros<int>());
    kept_and_added<<<1, 64>>>(zeros<float>(), partly<float>(64, 50));
    forgotten_input<<<1, 64>>>(same, partly<float>(64, 0));
    cudaMemcpy(seen, same, sizeof(seen), cudaMemcpyDeviceToHost);
    tile_that_nobody_filled<<<1, 64>>>(zeros<float>());
    total_of_missing_warps<<<1, 64>>>(zeros<unsigned>(), zeros<unsigned>());
    sum_in_a_tile_decides<<<1, 64>>>(zeros<int>(), zeros<int>());
    sum_in_a_tile_is_an_address<<<1, 64>>>(zeros<int>(), zeros<int>());
    one_of_many_states<<<1, 64>>>(zeros<int>(), partly<int>(64, 0));
    it_is_printed<<<1, 64>>>(partly<int>(64, 60));
    only_the_last_block<<<14, 64>>>(zeros<int>(), zeros<int>());
    off_the_alignment<<<1, 8>>>(zeros<float4>(), zeros<float>());
    cudaDeviceSynchronize();
}
