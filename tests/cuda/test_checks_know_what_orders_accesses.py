"""Accesses that something orders are no race, and the same accesses without it are one, for everything that orders."""

from pathlib import Path

from cuda_programs import ran

from harness.cuda.emulator.device_trace import Report
from harness.cuda.programs.program import Mode

PROGRAM = r"""
#include <cuda_runtime.h>

template <bool FENCED>  // volatile partial sums, as in programs that do not trust the cache
__global__ void last_block(volatile float* parts, unsigned* count, float* out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = blockIdx.x;
        if (FENCED) __threadfence();
        last = atomicAdd(count, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) out[threadIdx.x] = parts[threadIdx.x];
}

template <bool FENCED>  // everybody fences before the barrier, one thread tells
__global__ void last_block_of_all(float* parts, unsigned* count, float* out) {
    __shared__ bool last;
    parts[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;
    if (FENCED) __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(count, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last) out[threadIdx.x] = parts[(gridDim.x - 1) * blockDim.x + threadIdx.x] + parts[threadIdx.x];
}

template <bool MET>  // a warp's old way to add up, without and with a word between the steps
__global__ void warp_sum(float* out) {
    __shared__ volatile float s[64];
    int t = threadIdx.x;
    s[t] = t;
    s[t + 32] = t;
    if (MET) __syncwarp();
    for (int half = 32; half > 0; half /= 2) {
        float sum = s[t] + s[t + half];
        if (MET) __syncwarp();
        s[t] = sum;
        if (MET) __syncwarp();
    }
    if (t == 0) out[0] = s[0];
}

template <bool MET>  // tiles of eight lanes, each in its own part of the array
__global__ void tiles(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    if (MET) __syncwarp(0xFFu << (t & ~7));
    out[t] = s[t ^ 5];
}

__global__ void tiles_of_others(int* out) {  // the masks do not cover who reads
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    __syncwarp(0xFFu << (t & ~7));
    out[t] = s[t ^ 8];
}

template <bool FENCED>
__global__ void lock(int* mutex, int* sum) {
    bool done = false;
    while (!done) {
        if (atomicCAS(mutex, 0, 1) != 0) continue;
        if (FENCED) __threadfence();
        *sum += 1;
        if (FENCED) __threadfence();
        atomicExch(mutex, 0);
        done = true;
    }
}

__global__ void same_value(int* flag) { *flag = 1; }
__global__ void other_value(int* flag) { *flag = threadIdx.x; }
__global__ void atomic_and_plain(int* count, int* out) {
    atomicAdd(count, 1);
    if (threadIdx.x == 40) out[0] = *count;
}
__global__ void bytes(unsigned char* x) { x[threadIdx.x] = x[threadIdx.x] + 1; }
__global__ void next_byte(unsigned char* x) { x[threadIdx.x] = x[threadIdx.x + 1]; }

int main() {
    float *parts, *out;
    unsigned* count;
    int* n;
    cudaMalloc(&parts, 1 << 12);
    cudaMalloc(&out, 1 << 12);
    cudaMalloc(&count, 64);
    cudaMalloc(&n, 1 << 12);
    auto clear = [&] { cudaMemset(count, 0, 64), cudaMemset(n, 0, 1 << 12); };
    auto run = [&](auto launch) { clear(), launch(); };
    run([&] { last_block<true><<<8, 32>>>(parts, count, out); });
    run([&] { last_block_of_all<true><<<8, 64>>>(parts, count, out); });
    run([&] { warp_sum<true><<<1, 32>>>(out); });
    run([&] { tiles<true><<<1, 32>>>(n); });
    run([&] { lock<true><<<3, 64>>>(n, n + 64); });
    run([&] { bytes<<<1, 64>>>((unsigned char*)n); });
    run([&] { same_value<<<2, 64>>>(n); });
#ifdef RACES
    run([&] { last_block<false><<<8, 32>>>(parts, count, out); });
    run([&] { last_block_of_all<false><<<8, 64>>>(parts, count, out); });
    run([&] { warp_sum<false><<<1, 32>>>(out); });
    run([&] { tiles<false><<<1, 32>>>(n); });
    run([&] { tiles_of_others<<<1, 32>>>(n); });
    run([&] { lock<false><<<3, 64>>>(n, n + 64); });
    run([&] { next_byte<<<1, 64>>>((unsigned char*)n); });
    run([&] { other_value<<<1, 64>>>(n); });
    run([&] { atomic_and_plain<<<1, 64>>>(n, n + 64); });
#endif
    return cudaDeviceSynchronize();
}
"""
SEEDS = (0, 1, 2, 3)


def reports(folder: Path, text: str) -> list[Report]:
    file = folder / "orders.cu"
    file.write_text(text)
    runs = ran(file, Mode.CHECK, seeds=SEEDS)
    assert all(run.completed.returncode == 0 and run.report for run in runs), [run.completed.output for run in runs]
    return [run.report for run in runs if run.report]


def races(report: Report) -> dict[str, set[str]]:
    """Severities of the races of each kernel."""
    found: dict[str, set[str]] = {}
    for defect in report.defects:
        if defect.kind in ("shared_race", "global_race"):
            found.setdefault(defect.kernel or "", set()).add(defect.severity)
    return found


def test_what_is_ordered_is_no_race(tmp_path: Path) -> None:
    for report in reports(tmp_path, PROGRAM):
        # threads that write the same value: worth a word, changes nothing
        assert races(report) == {"same_value": {"info"}}, [defect.text for defect in report.defects]


def test_what_nothing_orders_is_a_race(tmp_path: Path) -> None:
    expected = {
        "last_block": "error", "last_block_of_all": "error", "warp_sum": "error", "tiles": "error",
        "tiles_of_others": "error", "lock": "error", "next_byte": "error", "other_value": "error",
        "atomic_and_plain": "warning",
    }  # fmt: skip
    for report in reports(tmp_path, "#define RACES\n" + PROGRAM):
        found = races(report)
        assert {
            kernel: severity for kernel, severity in expected.items() if severity not in found.get(kernel, ())
        } == {}
