"""However a checked program ends, what the device saw until then is told, and that not everything was checked."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cuda.emulator.build import Built
from harness.cuda.emulator.device_trace import Progress, last_progress
from harness.cuda.programs.faults import program_faults
from harness.cuda.programs.program import Mode, ProgramLimits, ProgramRun, ProgramSource, build_program, run_program
from harness.report.exports.programs import headline
from harness.sandbox import detect

# every end a program may come to, after a launch with a fault and one without
ENDS = r"""
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cooperative_groups.h>
#include <ctime>
#include <string>
#include <unistd.h>
__global__ void fill(float* x, int n) {
    if (threadIdx.x <= n) x[threadIdx.x] = 1;  // FAULT
}
__global__ void long_one(float* x) {
    for (long i = 0; i < 1L << 40; ++i) x[threadIdx.x] += i;
}
__global__ void trapped() { __trap(); }
__global__ void decides_and_stays(float* x, const int* flags) {
    if (flags[threadIdx.x] > 0) x[threadIdx.x] = 1;  // DECIDES
    for (long i = 0; i < 1L << 40; ++i) x[32] += i;
}
__global__ void decides_and_lacks(float* x, int* flags) {
    if (flags[threadIdx.x] > 0) x[threadIdx.x] = 1;  // LACKS
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(flags[0]) : "r"(0));
}
__global__ void holds_and_waits(float* x, const float* y) {
    float kept = y[threadIdx.x];  // HOLDS
    if (blockIdx.x == 1) return;
    cooperative_groups::this_grid().sync();
    x[threadIdx.x] = kept;
}
__global__ void message(volatile int* flag) {
    if (blockIdx.x == 1) *flag = 1;
    else while (*flag == 0) {}
}
__global__ void at_the_ends(float* x, int n) {
    if (blockIdx.x == 0 || blockIdx.x == gridDim.x - 1) x[n] = 1;  // ENDS
    if (threadIdx.x == 0) x[blockIdx.x % n] = 1;
}
int main(int count, char** words) {
    std::string end = count > 1 ? words[1] : "";
    float* x;
    cudaMalloc(&x, 64 * sizeof(float));
    fill<<<1, 96>>>(x, 64);
    fill<<<1, 32>>>(x, 64);
    cudaDeviceSynchronize();
    printf("it printed this");
    if (end == "trapped") for (int i = 0; i < 3; ++i) trapped<<<1, 1>>>();
    if (end == "killed") raise(SIGKILL);
    if (end == "left") { fflush(stdout); _exit(0); }
    if (end == "interrupted") { signal(SIGINT, SIG_DFL); raise(SIGINT); }
    if (end == "broken heap") {
        char* p = static_cast<char*>(malloc(16));
        memset(p - 16, 0xff, 4096);
        free(p);
        free(malloc(99999));
        abort();
    }
    if (end == "asleep") sleep(1000);
    if (end == "busy") for (volatile int i = 0;; i = 1) {}
    if (end == "in a kernel") long_one<<<100, 64>>>(x);
    int* flags;
    cudaMalloc(&flags, 64 * sizeof(int));
    if (end == "decides") decides_and_stays<<<4, 32>>>(x, flags);
    if (end == "lacks") decides_and_lacks<<<1, 32>>>(x, flags);
    if (end == "many blocks") {
        at_the_ends<<<2000, 1>>>(x, 64);
        at_the_ends<<<2, 1>>>(x, 64);
        printf("FAILED\n");
        return 7;
    }
    if (end == "slowly") at_the_ends<<<1 << 30, 1>>>(x, 63);
    if (end == "wait for each other") {
        cudaMemset(flags, 0, 64 * sizeof(int));
        message<<<40, 1>>>(flags);
    }
    if (end == "cooperate") {
        void* words[] = {&x, &flags};
        cudaLaunchCooperativeKernel((void*)holds_and_waits, dim3(3), dim3(32), words, 0, 0);
    }
    if (end == "forks") {
        if (fork() == 0) { fill<<<1, 96>>>(x, 64); exit(9); }
    }
    if (end == "writes") {
        FILE* file = fopen("/dev/full", "w");
        if (fputs("more than fits", file) < 0 || fflush(file) != 0) return 4;
    }
    if (end == "prints") for (;;) printf("%080d\n", 1);
    if (end == "binary") for (int i = 0; i < 256; ++i) putchar(i);
    if (end == "reads") { char c; if (scanf(" %c", &c) != 1) { printf("nothing to read\n"); return 5; } }
    if (end == "needs a file" && !fopen("data.bin", "r")) { printf("cannot open data.bin\n"); return 6; }
    if (end == "waits for the clock") for (time_t then = time(nullptr) + 1; time(nullptr) < then;) {}
    printf("\n");
}
"""
ENOUGH = ProgramLimits(30)
TOLD = [
    ("killed", "killed by signal 9 (SIGKILL)"),
    ("left", "exit status 0"),
    ("interrupted", "killed by signal 2 (SIGINT)"),
    ("broken heap", "killed by signal"),
    ("asleep", "killed: it did not end within 2 s"),
    ("busy", "killed: it did not end within 2 s"),
    ("in a kernel", "killed: it did not end within 2 s"),
    ("prints", "killed: it printed over 1 MiB"),
]
CHECKED = [
    ("", "exit status 0", ""),
    ("forks", "exit status 0", ""),
    ("writes", "exit status 4", ""),
    ("binary", "exit status 0", ""),
    ("reads", "exit status 5", "nothing to read"),
    ("needs a file", "exit status 6", "cannot open data.bin"),
    ("waits for the clock", "exit status 0", ""),
]


@pytest.fixture(scope="module")
def program() -> Iterator[tuple[ProgramSource, Built]]:
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "source"), Path(folder, "made")
        source.mkdir()
        made.mkdir()
        (source / "ends.cu").write_text(ENDS)
        known = ProgramSource.of([source / "ends.cu"])
        yield known, build_program(known, made, tier=detect())


def ran(program: tuple[ProgramSource, Built], end: str, limits: ProgramLimits = ENOUGH) -> ProgramRun:
    source, built = program
    assert built.path is not None, built.errors
    return run_program(source, built.path, [end], tier=detect(), mode=Mode.CHECK, limits=limits)


def fault(run: ProgramRun) -> tuple[str, int | None]:
    (found,) = program_faults([run])
    return found.defect.kind, found.defect.line


FAULT_LINE = 1 + next(n for n, text in enumerate(ENDS.splitlines()) if "FAULT" in text)


@pytest.mark.parametrize(("end", "said"), TOLD)
def test_what_was_seen_is_told_of_a_program_that_left_no_report(
    program: tuple[ProgramSource, Built], end: str, said: str
) -> None:
    run = ran(program, end, ProgramLimits(2 if "within 2 s" in said else 30))
    assert said in run.ended
    assert fault(run) == ("out_of_bounds", FAULT_LINE)
    if end == "broken heap":  # it may live to write its report
        return
    assert run.unchecked == (
        run.ended if end != "left" else "it left without its report (exit status 0), as _exit does"
    )
    told = headline([run], program_faults([run]))
    assert told.startswith("1 error, schedule 0; stopped after ")
    assert f"stopped after {3 if end == 'in a kernel' else 2} kernel launches" in told
    assert "no defect found" not in headline([run], [])


@pytest.mark.parametrize(("end", "said", "printed"), CHECKED)
def test_odd_programs_end_with_what_they_did(
    program: tuple[ProgramSource, Built], end: str, said: str, printed: str
) -> None:
    run = ran(program, end)
    assert (said in run.ended, printed in run.completed.output) == (True, True)
    assert fault(run) == ("out_of_bounds", FAULT_LINE)
    assert not run.unchecked


def test_a_launch_budget_stops_the_program_without_failing_it(program: tuple[ProgramSource, Built]) -> None:
    run = ran(program, "", ProgramLimits(30, launches=1))
    assert (run.failed, run.launches, run.unchecked) == (False, 1, "--launches 1")
    assert "stopped after 1 kernel launch, so not everything was checked: --launches 1" in headline([run], [])
    assert run.report is not None and run.report.whole


def test_a_budget_larger_than_the_program_leaves_nothing_unchecked(program: tuple[ProgramSource, Built]) -> None:
    run = ran(program, "", ProgramLimits(30, enough_seconds=20, launches=2))
    assert (run.failed, run.launches, run.unchecked) == (False, 2, "")


def test_enough_seconds_are_no_failure_and_say_where_it_stood(program: tuple[ProgramSource, Built]) -> None:
    run = ran(program, "in a kernel", ProgramLimits(30, enough_seconds=1))
    assert (run.failed, run.launches, run.unchecked) == (False, 3, "--seconds 1")
    stopped = run.report and run.report.stopped
    assert stopped is not None and (stopped.why, stopped.block, stopped.blocks) == ("time", 0, 100)
    assert run.report and [launch.finished for launch in run.report.launches] == [True, True, False]


def test_launches_that_an_error_keeps_from_running_are_told(program: tuple[ProgramSource, Built]) -> None:
    run = ran(program, "trapped")
    assert run.unchecked == "2 launches were refused after an error and not run"
    told = headline([run], program_faults([run]))
    assert told.startswith("2 errors, 3 kernel launches, schedule 0; not everything was checked: ")


def line_of(mark: str) -> int:
    return 1 + next(n for n, text in enumerate(ENDS.splitlines()) if f"// {mark}" in text)


@pytest.mark.parametrize(
    ("end", "mark", "severities"),
    # how far it comes within its time depends on the machine
    [("decides", "DECIDES", {"error", "warning"}), ("lacks", "LACKS", {"error"}), ("cooperate", "HOLDS", {"warning"})],
)
def test_what_an_ended_block_read_is_told(
    program: tuple[ProgramSource, Built], end: str, mark: str, severities: set[str]
) -> None:
    run = ran(program, end, ProgramLimits(3 if end == "decides" else 30))
    (read,) = [f.defect for f in program_faults([run]) if f.defect.kind == "uninitialized_read"]
    assert read.line == line_of(mark)
    assert read.severity in severities


def test_a_sample_of_the_blocks_is_told_with_its_share(program: tuple[ProgramSource, Built]) -> None:
    run = ran(program, "many blocks", ProgramLimits(30, blocks=8))
    assert run.report is not None and (run.report.blocks_run, run.report.blocks_launched) == (1 + 1 + 8 + 2, 2004)
    found = {f.defect.line: f.defect for f in program_faults([run])}
    assert found[line_of("ENDS")].count == 4  # the first and the last block, of two launches
    assert not run.failed and run.completed.returncode == 7
    told = headline([run], [])
    assert told.startswith("nothing found in what was run, 4 kernel launches")
    assert told.endswith("not everything was checked: --blocks 8 ran 12 of 2,004 blocks, 0.6 %")


def test_the_share_is_told_beside_other_reasons(program: tuple[ProgramSource, Built]) -> None:
    run = ran(program, "many blocks", ProgramLimits(30, blocks=8, launches=3))
    assert run.unchecked == "--launches 3; --blocks 8 ran 10 of 2,002 blocks, 0.5 %"
    assert ran(program, "killed", ProgramLimits(30, blocks=8)).unchecked == (
        "killed by signal 9 (SIGKILL); --blocks 8 ran so many blocks of each launch at most"
    )


def test_blocks_that_wait_for_each_other_are_not_sampled(program: tuple[ProgramSource, Built]) -> None:
    for end, kernel in (("cooperate", "holds_and_waits"), ("wait for each other", "message")):
        run = ran(program, end, ProgramLimits(30, blocks=2))
        assert run.report is not None
        (lacking,) = run.report.unsupported
        assert "a sample of the blocks (--blocks) of a" in lacking.what and kernel
        assert lacking.line == 1 + next(n for n, t in enumerate(ENDS.splitlines()) if f"void {kernel}(" in t)


def test_a_budget_of_blocks_that_is_enough_leaves_nothing_out(program: tuple[ProgramSource, Built]) -> None:
    run = ran(program, "", ProgramLimits(30, blocks=8))
    assert (run.unchecked, run.share) == ("", None)


def test_how_far_it_has_come_is_seen_while_it_runs(program: tuple[ProgramSource, Built]) -> None:
    source, built = program
    assert built.path is not None
    seen: list[Progress] = []

    def watch(seconds: float, reported: bytes) -> None:
        progress, launch, _ = last_progress(reported)
        if progress and launch and launch.kernel == "at_the_ends" and not seen:
            seen.append(progress)

    limits = ProgramLimits(30, enough_seconds=2)
    run_program(source, built.path, ["slowly"], tier=detect(), mode=Mode.CHECK, limits=limits, watch=watch)
    (progress,) = seen
    assert (progress.launches, progress.blocks) == (3, 1 << 30)
    assert progress.whole_seconds is not None and progress.whole_seconds > 60
