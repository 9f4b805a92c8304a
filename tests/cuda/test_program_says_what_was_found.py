"""What is found in a program is shown, every launch is counted, and a long one is told of."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cuda_programs import ran

from harness.cuda.emulator.device_trace import BufferTraffic, KernelLaunch, Operations, last_progress
from harness.cuda.programs.devices import DEVICES
from harness.cuda.programs.estimates import Estimates
from harness.cuda.programs.program import Mode, ProgramSource
from harness.cuda.programs.slow_hint import SlowHint
from harness.errors import NotFoundError
from tests.commands import called

HERE = Path(__file__).parent
TWO_FILES = {
    "main.cu": """
#include <cstdio>
#include <cstring>
#include "scale.cuh"
int main(int argc, char** argv) {
    FILE* file = fopen("factor.txt", "r");
    float factor = 0, host[64];
    if (!file || fscanf(file, "%f", &factor) != 1) return 3;
    if (fopen("written.txt", "w")) printf("its folder can be written\\n");
    float* x;
    cudaMalloc(&x, sizeof(host));
    cudaMemset(x, 0, sizeof(host));
    scale(x, factor + OFFSET, 64);
    cudaMemcpy(host, x, sizeof(host), cudaMemcpyDeviceToHost);
    printf("got %g after %d words, the last %s\\n", host[63], argc, argv[argc - 1]);
    return 0;
}
""",
    "lib/scale.cu": """
#include "../scale.cuh"
__global__ void shift(float* x, float by, int n) {
    int i = threadIdx.x;
    if (i < n) x[i] += by;
}
void scale(float* x, float by, int n) { shift<<<1, 64>>>(x, by, n); }
""",
    "scale.cuh": "#pragma once\n#include <cuda_runtime.h>\nvoid scale(float* x, float by, int n);\n",
    "factor.txt": "2.5\n",
}


def harness(*words: object, cwd: Path = HERE) -> "subprocess.CompletedProcess[str]":
    return called(HERE.parents[1], "cuda", *map(str, words), cwd=cwd)


@pytest.fixture
def two_files(tmp_path: Path) -> Path:
    for name, text in TWO_FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def written(folder: Path, text: str) -> Path:
    (folder / "program.cu").write_text(text)
    return folder / "program.cu"


def test_a_race_is_shown_with_both_sides_and_their_source() -> None:
    done = harness("check", "faults/tile_overwritten.cu")
    assert done.returncode == 1, done.stderr
    assert "1. error: shared race" in done.stdout
    assert "in kernel tiled, block (0, 0, 0), thread (" in done.stdout
    for line, source in ((9, "tile[t] = x[i * 128 + t];"), (11, "sum += tile[127 - t];")):
        assert f" at tile_overwritten.cu:{line}\n" in done.stdout
        assert source in done.stdout


def test_nothing_found_is_said_and_what_the_program_printed_kept_apart(tmp_path: Path) -> None:
    program = written(
        tmp_path,
        '#include <cstdio>\n__global__ void k() { printf("device\\n"); }\n'
        'int main() { k<<<1, 1>>>(); cudaDeviceSynchronize(); printf("host\\n"); }\n',
    )
    done = harness("check", program)
    assert done.returncode == 0, done.stderr
    found, _, printed = done.stdout.partition("--- the program")
    assert "program.cu: no defect found, 1 kernel launch, schedule 0" in found
    assert printed.splitlines() == [", schedule 0: exit status 0; its output:", "device", "host"]


def test_files_includes_macros_arguments_and_data_are_the_programs_own(two_files: Path) -> None:
    done = harness("check", "main.cu", "lib/scale.cu", "-D", "OFFSET=1", "--", "--seed", "last", cwd=two_files)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "got 3.5 after 3 words, the last last" in done.stdout
    assert "no defect found" in done.stdout


def test_traffic_is_told_by_launch_and_buffer(two_files: Path) -> None:
    done = harness("count", "main.cu", "lib/scale.cu", "-D", "OFFSET=0", cwd=two_files)
    assert done.returncode == 0, done.stderr
    assert "shift: grid 1, block 64, 64 threads" in done.stdout
    assert "counted on the emulated device, not measured" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["global", "load", "256", "2", "4.00", "sectors", "1.00", "x"] in rows
    assert ["buffer", "0", "256", "256", "1.000", "256", "0", "256", "256"] in rows
    estimates = [line for line in done.stdout.splitlines() if line.startswith("estimate for A100")]
    assert "limited by warps and blocks" in estimates[0] and "registers not known" in estimates[0]
    assert "launch overhead outweighs the lower bounds" in estimates[2] and "(512 bytes at 1,555 GB/s)" in estimates[2]


REDUCTION = """
#include <cstdio>
__global__ void reduce(const float* in, float* out, int n) {
    __shared__ float sums[64];
    int t = threadIdx.x;
    sums[t] = in[blockIdx.x * 64 + t];
    for (int step = 32; step > 0; step /= 2) {
        if (t < step) sums[t] += sums[t + step];
    }
    if (t == 0) *out += sums[0];
}
int main() {
    float host[128] = {}, *in, *out;
    cudaMalloc(&in, sizeof(host));
    cudaMalloc(&out, sizeof(float));
    cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
    reduce<<<2, 64>>>(in, out, 128);
    cudaMemcpy(host, out, sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g\\n", host[0]);
}
"""


def test_a_sum_that_nobody_set_is_a_fault_of_its_own(tmp_path: Path) -> None:
    """Missing barriers explain what is read of shared memory, and no race explains the sum."""
    done = harness("check", written(tmp_path, REDUCTION), "--json")
    findings = json.loads(done.stdout)["findings"]
    reads = {f["line"]: f["may_follow_from"] for f in findings if f["kind"] == "uninitialized_read"}
    assert reads == {8: ["program.cu", 6], 10: None}, done.stderr
    assert {f["severity"] for f in findings} == {"error"}
    assert "may be caused by finding 1; fix that first" in harness("check", tmp_path / "program.cu").stdout


def test_times_are_estimated_only_beyond_the_overhead_of_a_launch() -> None:
    def bounds(numbers: int) -> str:
        moved = BufferTraffic(unique_read_bytes=4 * numbers)
        adds = {"float": Operations(add=numbers)}
        launch = KernelLaunch(kernel="k", grid=(1, 1, 1), block=(32, 1, 1), buffers={"x": moved}, arithmetic=adds)
        *_, last = Estimates(DEVICES["a100"]).lines(launch)
        return last.partition(": ")[2]

    assert bounds(10**8) == (
        "lower bounds with cold caches, without launch overhead: memory 257.23 us (400,000,000 bytes at 1,555 GB/s),"
        " arithmetic 5.13 us (100,000,000 operations in float at 19.5 TFLOP/s, if all were fused multiply-adds);"
        " memory without any cache 0 ns (0 bytes); 0.25 operations per byte: memory-bound"
    )
    brief = bounds(1000)
    assert brief.startswith("launch overhead outweighs the lower bounds, which are below 1 us: memory (4,000 bytes")
    assert " ns" not in brief and brief.endswith("; 0.25 operations per byte")


def test_json_has_the_report_of_every_schedule() -> None:
    done = harness("check", "faults/missing_barrier.cu", "--seed", 3, "--seeds", 2, "--json")
    assert done.returncode == 1
    runs = json.loads(done.stdout)["runs"]
    assert [run["seed"] for run in runs] == [run["report"]["seed"] for run in runs] == [3, 4]
    assert {d["kind"] for run in runs for d in run["report"]["defects"]} >= {"shared_race"}


def test_several_schedules_are_told_as_one_list() -> None:
    done = harness("check", "faults/write_past_the_end.cu", "--seeds", 3)
    assert "1. error: out of bounds" in done.stdout
    assert "in 3 of 3 schedules" in done.stdout
    assert "2. " not in done.stdout


def test_the_same_schedule_tells_the_same_twice() -> None:
    first, second = (harness("check", "faults/missing_barrier.cu", "--seed", 5, "--json") for _ in range(2))
    assert first.stdout == second.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("int main() {\n    return nothing;\n}\n", "program.cu:2"),
        ("", "main"),
        ("this is no program\n", "program.cu:1"),
        ("#include <curand.h>\nint main() { curandCreateGenerator(0, 0); }\n", "program.cu:2: unsupported"),
    ],
    ids=["does not compile", "empty", "no program", "cuRAND"],
)
def test_what_cannot_be_built_is_no_defect(text: str, said: str, tmp_path: Path) -> None:
    done = harness("check", written(tmp_path, text))
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("int main() { return 7; }\n", "exit status 7"),
        ("#include <cstdlib>\nint main() { abort(); }\n", "signal 6 (SIGABRT)"),
        ("int main() { volatile int x = 0; while (true) x = 1; }\n", "did not end within 2 s"),
        ('#include <cstdio>\nint main() { while (true) printf("%080d\\n", 1); }\n', "printed over 1 MiB"),
    ],
)
def test_a_program_that_fails_is_told_from_a_clean_one(text: str, said: str, tmp_path: Path) -> None:
    done = harness("check", written(tmp_path, text), "--timeout", 2)
    assert done.returncode == 1, done.stderr
    assert said in done.stdout


def test_files_that_are_not_there_are_usage_errors(tmp_path: Path) -> None:
    done = harness("check", tmp_path / "none.cu")
    assert (done.returncode, "no such file: " in done.stderr) == (2, True)
    assert harness("check").returncode == 2


def test_a_program_without_main_is_called_one(tmp_path: Path) -> None:
    done = harness("check", written(tmp_path, ""))
    assert (done.returncode, done.stderr.splitlines()) == (2, ["program.cu has no main"])


def test_a_program_lives_in_the_lowest_folder_that_holds_it(two_files: Path) -> None:
    source = ProgramSource.of([two_files / "main.cu", two_files / "lib" / "scale.cu"])
    assert (source.folder, source.entries) == (two_files, ("main.cu", "lib/scale.cu"))
    assert source.files() == ("main.cu", "scale.cuh", "lib/scale.cu")
    assert source.line("lib/scale.cu", 5) == "if (i < n) x[i] += by;"
    assert source.line("lib/scale.cu", 99) == source.line("none.cu", 1) == ""
    with pytest.raises(NotFoundError, match="--root"):
        ProgramSource.of([two_files / "main.cu"], root=two_files / "lib")


def test_a_run_that_reaches_what_the_device_lacks_is_no_clean_run(tmp_path: Path) -> None:
    text = '__global__ void k() {\n    asm("bar.sync 1, 64;");\n}\nint main() { k<<<1, 1>>>(); }\n'
    done = harness("check", written(tmp_path, text))
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["program.cu:2: unsupported on the emulated device: inline assembly (bar.sync)"]
    assert "not run to its end" in done.stdout


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


def launched(ordinal: int, kernel: str = "scan") -> bytes:
    known = {"kernel": kernel, "grid": [9, 1, 1], "block": [1, 1, 1]}
    return json.dumps({"launch": known, "ordinal": ordinal}, separators=(",", ":")).encode() + b"\n"


def at(done: int, blocks: int, milliseconds: int, launches: int = 1) -> bytes:
    told = {"launches": launches, "blocks_done": done, "blocks": blocks, "milliseconds": milliseconds}
    return json.dumps({"progress": told}, separators=(",", ":")).encode() + b"\n"


def said(*looks: tuple[float, bytes], **how: Any) -> list[str]:
    lines: list[str] = []
    hint = SlowHint(lines.append, **{"samples": True, "seconds": 60.0, **how})
    for seconds, reported in looks:
        hint(seconds, reported)
    return lines


def test_a_long_launch_is_told_of_with_its_rate_and_what_to_do() -> None:
    slow = launched(0) + at(0, 4096, 0) + at(12, 4096, 5000)
    (line,) = said((1.0, slow), (6.5, slow), (30.0, slow))
    assert line.startswith("12 of 4,096 blocks of scan in 5 s, so this launch takes about 28 minutes: --blocks N runs ")
    assert "--set NAME=VALUE" in line and "--launches N" in line and line.endswith("(ended after 60 s)")
    assert "--blocks" not in said((6.5, slow), samples=False)[0]


def test_what_ends_soon_is_not_told_of() -> None:
    assert said((6.5, launched(0) + at(500, 1000, 5000)), (12.0, launched(0) + at(990, 1000, 10_000))) == []
    assert said((6.5, b""), (59.0, b"")) == []  # host code


def test_a_rate_counts_for_its_own_launch_only() -> None:
    many = launched(0) + at(1, 4096, 5000) + launched(1) + launched(2, "add")
    assert last_progress(many)[0] is None
    assert said((7.0, many)) == []
    (line,) = said((21.0, many))
    assert line.startswith("3 launches in 21 s, now add: ")


def test_what_is_cut_off_is_passed_over() -> None:
    progress, launch, launches = last_progress(b'ish":1}\n' + launched(4) + at(2, 9, 1500, 5) + b'{"progress":{"laun')
    assert progress is not None and (progress.blocks_done, launches, launch and launch.kernel) == (2, 5, "scan")
