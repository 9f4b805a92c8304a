// Tiles of 32 x 32 through shared memory padded by one column; the matrix is no multiple of a tile.
#include "device.h"

constexpr int TILE = 32, ROWS = 8;

__global__ void transpose(float* out, const float* x, int rows, int columns) {
    __shared__ float tile[TILE][TILE + 1];
    int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS) {
        if (column < columns && row + i < rows) {
            tile[threadIdx.y + i][threadIdx.x] = x[(row + i) * columns + column];
        }
    }
    __syncthreads();
    int to_column = blockIdx.y * TILE + threadIdx.x, to_row = blockIdx.x * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS) {
        if (to_column < rows && to_row + i < columns) {
            out[(to_row + i) * rows + to_column] = tile[threadIdx.x][threadIdx.y + i];
        }
    }
}

int main() {
    const int rows = 70, columns = 45;
    std::vector<float> x = noise(rows * columns), right(rows * columns);
    for (int i = 0; i < rows * columns; ++i) {
        right[i % columns * rows + i / columns] = x[i];
    }
    Buffer<float> input(x), out(rows * columns);
    dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose<<<grid, dim3(TILE, ROWS)>>>(out, input, rows, columns);
    return compare(out.host(), right, 0.0);
}
