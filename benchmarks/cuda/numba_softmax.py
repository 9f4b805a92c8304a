"""The kernel `three_passes` of softmax.cu for numba's CUDA simulator; prints processor seconds of the fastest launch.

NUMBA_ENABLE_CUDASIM=1 python numba_softmax.py ROWS COLUMNS THREADS LAUNCHES
"""

import math
import sys
import time

import numpy as np
from numba import cuda, float32

THREADS = int(sys.argv[3])


@cuda.jit
def three_passes(out, x, columns):
    slots = cuda.shared.array(THREADS, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    largest = -math.inf
    for c in range(t, columns, cuda.blockDim.x):
        largest = max(largest, x[row, c])
    slots[t] = largest
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if t < half:
            slots[t] = max(slots[t], slots[t + half])
        cuda.syncthreads()
        half //= 2
    largest = slots[0]
    cuda.syncthreads()
    total = 0.0
    for c in range(t, columns, cuda.blockDim.x):
        total += math.exp(x[row, c] - largest)
    slots[t] = total
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if t < half:
            slots[t] += slots[t + half]
        cuda.syncthreads()
        half //= 2
    for c in range(t, columns, cuda.blockDim.x):
        out[row, c] = math.exp(x[row, c] - largest) / slots[0]


def main() -> None:
    rows, columns, threads, launches = (int(word) for word in sys.argv[1:])
    x = (np.arange(rows * columns, dtype=np.uint32) * np.uint32(2654435761) % 1000 / 100).astype(np.float32)
    x = x.reshape(rows, columns)
    out, taken = np.zeros_like(x), []
    for _ in range(launches):
        start = time.process_time()
        three_passes[rows, threads](out, x, columns)
        taken.append(time.process_time() - start)
    exact = np.exp(x.astype(float) - x.max())
    if not np.allclose(out, exact / exact.sum(axis=1, keepdims=True)):
        raise SystemExit("the simulator's values are wrong")
    print(f"{min(taken):.6f}")


if __name__ == "__main__":
    main()
