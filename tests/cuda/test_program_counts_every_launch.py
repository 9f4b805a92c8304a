"""The number of launches that is told is all of them, also where there are too many to list."""

from pathlib import Path

from cuda_programs import ran

from harness.cuda.programs.program import Mode

LAUNCHES = 3 * 100
"""More than are listed: 256, of which equal ones in a row count as one."""


def test_launches_in_turn_are_all_counted(tmp_path: Path) -> None:
    program = tmp_path / "turns.cu"
    kernels = "".join(f"__global__ void k{i}(int* x) {{ x[{i}] = 1; }}\n" for i in range(3))
    calls = "".join(f"k{i}<<<1, 1>>>(x); " for i in range(3))
    program.write_text(
        f"#include <cuda_runtime.h>\n{kernels}int main() {{\n    int* x;\n    cudaMalloc(&x, 64);\n"
        f"    for (int i = 0; i < 100; ++i) {{ {calls}}}\n    cudaDeviceSynchronize();\n    cudaFree(x);\n}}\n"
    )
    (run,) = ran(program, Mode.CHECK)
    assert run.report is not None
    assert sum(launch.count for launch in run.report.launches) < LAUNCHES, "some are not listed"
    assert run.launches == LAUNCHES


def test_a_captured_call_of_a_library_keeps_its_name(tmp_path: Path) -> None:
    program = tmp_path / "captured.cu"
    program.write_text(CAPTURED)
    (run,) = ran(program, Mode.CHECK)
    assert run.report is not None
    assert [(launch.kernel, launch.count) for launch in run.report.launches] == [("cublasSscal", 3)]
    assert not run.report.found("error", "warning")
    assert run.ended == "exit status 0"


CAPTURED = r"""
#include <cublas_v2.h>
#include <cuda_runtime.h>

int main() {
    const float host[4] = {1, 2, 3, 4}, two = 2;
    float *x, got[4];
    cudaMalloc(&x, sizeof host);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cublasHandle_t handle;
    cublasCreate(&handle);
    cublasSetStream(handle, stream);
    cudaGraph_t graph;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cublasSscal(handle, 4, &two, x, 1);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphExec_t ready;
    cudaGraphInstantiate(&ready, graph, 0);
    for (int i = 0; i < 3; ++i) cudaGraphLaunch(ready, stream);
    cudaStreamSynchronize(stream);
    cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost);
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);
    cublasDestroy(handle);
    cudaStreamDestroy(stream);
    cudaFree(x);
    return got[3] != 32;
}
"""
