// Layer normalisation forward and backward: y = gamma (x - mean) / sqrt(var + eps) + beta over the last axis.
//
// One warp works on one row of `features` numbers, and lanes take neighbouring ones. Sums over a row are butterfly
// reductions of the warp; the gradients of gamma and beta, which are sums over all rows, are added in two steps: each
// block adds up its own rows in shared memory, then a second kernel adds the blocks in a fixed order, so that the same
// input always gives the same bits.
#include <cuda_runtime.h>

namespace {

constexpr int WARPS = 4;
constexpr int BLOCKS = 64;    // at most; each leaves one row of partial sums
constexpr int COLUMNS = 256;  // of gamma and beta, for a block of the second kernel
constexpr int MAX_FEATURES = 48 * 1024 / (2 * sizeof(float));
constexpr unsigned ALL_LANES = 0xffffffffu;

__device__ float warp_sum(float value) {
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(ALL_LANES, value, distance);
    return value;
}

/// y (rows, features), mean and rstd (rows): the variance is taken from centred numbers, in a second read of the row.
__global__ void forward_kernel(const float* x, const float* gamma, const float* beta, float eps, int rows,
                               int features, float* y, float* mean, float* rstd) {
    const int lane = threadIdx.x, row = blockIdx.x * WARPS + threadIdx.y;
    if (row >= rows) return;
    const size_t start = static_cast<size_t>(row) * features;
    float sum = 0.0f;
    for (int d = lane; d < features; d += 32) sum += x[start + d];
    const float m = warp_sum(sum) / features;
    float squares = 0.0f;
    for (int d = lane; d < features; d += 32) squares += (x[start + d] - m) * (x[start + d] - m);
    const float r = rsqrtf(warp_sum(squares) / features + eps);
    for (int d = lane; d < features; d += 32) y[start + d] = gamma[d] * (x[start + d] - m) * r + beta[d];
    if (lane == 0) {
        mean[row] = m;
        rstd[row] = r;
    }
}

/// dx of one row; dxhat = dy gamma, dx = rstd (dxhat - mean(dxhat) - xhat mean(dxhat xhat)).
__device__ void backward_row(const float* dy, const float* x, const float* gamma, float mean, float rstd, int features,
                             float* dx) {
    float sum = 0.0f, along = 0.0f;
    for (int d = threadIdx.x; d < features; d += 32) {
        const float dxhat = dy[d] * gamma[d];
        sum += dxhat;
        along += dxhat * (x[d] - mean) * rstd;
    }
    const float mean_term = warp_sum(sum) / features, projection = warp_sum(along) / features;
    for (int d = threadIdx.x; d < features; d += 32) {
        const float xhat = (x[d] - mean) * rstd;
        dx[d] = rstd * (dy[d] * gamma[d] - mean_term - xhat * projection);
    }
}

/// dx (rows, features), and for each block the sums over its rows: partial_dgamma, partial_dbeta (blocks, features).
__global__ void backward_kernel(const float* dy, const float* x, const float* gamma, const float* mean,
                                const float* rstd, int rows, int features, float* dx, float* partial_dgamma,
                                float* partial_dbeta) {
    extern __shared__ float sums[];
    float* dgamma = sums;
    float* dbeta = sums + features;
    const int thread = threadIdx.y * 32 + threadIdx.x;
    for (int d = thread; d < 2 * features; d += 32 * WARPS) sums[d] = 0.0f;
    __syncthreads();
    for (int first = blockIdx.x * WARPS; first < rows; first += gridDim.x * WARPS) {
        const int mine = first + threadIdx.y;
        if (mine < rows) {
            const size_t start = static_cast<size_t>(mine) * features;
            backward_row(dy + start, x + start, gamma, mean[mine], rstd[mine], features, dx + start);
        }
        for (int d = thread; d < features; d += 32 * WARPS) {  // one thread for a column: no two add to one place
            for (int row = first; row < min(first + WARPS, rows); ++row) {
                const size_t at = static_cast<size_t>(row) * features + d;
                dgamma[d] += dy[at] * (x[at] - mean[row]) * rstd[row];
                dbeta[d] += dy[at];
            }
        }
    }
    for (int d = thread; d < features; d += 32 * WARPS) {
        const size_t at = static_cast<size_t>(blockIdx.x) * features + d;
        partial_dgamma[at] = dgamma[d];
        partial_dbeta[at] = dbeta[d];
    }
}

/// Columns of partial sums (blocks, features) added up.
__global__ void add_kernel(const float* partial_dgamma, const float* partial_dbeta, int blocks, int features,
                           float* dgamma, float* dbeta) {
    const int d = blockIdx.x * COLUMNS + threadIdx.x;
    if (d >= features) return;
    float scale = 0.0f, shift = 0.0f;
    for (int block = 0; block < blocks; ++block) {
        scale += partial_dgamma[static_cast<size_t>(block) * features + d];
        shift += partial_dbeta[static_cast<size_t>(block) * features + d];
    }
    dgamma[d] = scale;
    dbeta[d] = shift;
}

}  // namespace

/// y (rows, features) with mean and rstd (rows), which the backward needs. Returns 0 or an error of CUDA.
extern "C" int layernorm_forward(const float* x, const float* gamma, const float* beta, float eps, int rows,
                                 int features, float* y, float* mean, float* rstd, cudaStream_t stream) {
    if (rows < 1 || features < 1) return cudaErrorInvalidValue;
    const int blocks = (rows + WARPS - 1) / WARPS;
    forward_kernel<<<blocks, dim3(32, WARPS), 0, stream>>>(x, gamma, beta, eps, rows, features, y, mean, rstd);
    return cudaGetLastError();
}

/// Gradients of sum(dy * y): dx (rows, features), dgamma and dbeta (features); mean and rstd are the forward's. A block
/// holds two sums for each feature, so there are at most MAX_FEATURES.
extern "C" int layernorm_backward(const float* dy, const float* x, const float* gamma, const float* mean,
                                  const float* rstd, int rows, int features, float* dx, float* dgamma, float* dbeta,
                                  cudaStream_t stream) {
    if (rows < 1 || features < 1 || features > MAX_FEATURES) return cudaErrorInvalidValue;
    const int blocks = min((rows + WARPS - 1) / WARPS, BLOCKS);
    const size_t partial = static_cast<size_t>(blocks) * features;
    float* scratch = nullptr;
    const cudaError_t failed = cudaMallocAsync(&scratch, 2 * partial * sizeof(float), stream);
    if (failed != cudaSuccess) return failed;
    backward_kernel<<<blocks, dim3(32, WARPS), 2 * features * sizeof(float), stream>>>(
        dy, x, gamma, mean, rstd, rows, features, dx, scratch, scratch + partial);
    add_kernel<<<(features + COLUMNS - 1) / COLUMNS, COLUMNS, 0, stream>>>(scratch, scratch + partial, blocks, features,
                                                                           dgamma, dbeta);
    cudaFreeAsync(scratch, stream);
    return cudaGetLastError();
}
