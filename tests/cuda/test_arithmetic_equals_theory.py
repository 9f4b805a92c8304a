"""Arithmetic is counted by type as the source says it: the counts of kernels counted by hand are these to the digit."""

from pathlib import Path

import pytest

from harness.cuda.emulator.device_trace import Report
from harness.cuda.programs.devices import DEVICES, estimate
from harness.cuda.programs.program import Mode, ProgramSource, build_program, run_program
from harness.sandbox import detect

PROGRAM = Path(__file__).parent / "theory" / "arithmetic.cu"
N, LANES = 24, 32
THEORY = {
    # elements, as they are written: two operations each
    "saxpy": {"float": {"add": 200, "multiply": 200}},
    "saxpy_fused": {"float": {"fused": 3 * 200}},
    # m n k of each
    "product_tiled": {"float": {"add": N**3, "multiply": N**3}},
    # an element: its difference and its sum, its difference again and a division
    "softmax": {"float": {"add": 3 * LANES * 50, "divide": LANES * 50, "function": 2 * LANES * 50}},
    "types": {
        "double": {"add": LANES, "multiply": LANES},
        "float": {"divide": LANES},
        "half": {"add": 3 * LANES, "multiply": LANES, "fused": 2 * LANES},
        "bfloat16": {"multiply": LANES},
    },
    "spellings": {
        "float": {"add": LANES * 13, "multiply": LANES * 12, "divide": LANES * 2},
        "double": {"add": LANES * 2, "divide": LANES},
    },
    "matrices": {"tensor": {"fused": 16**3}},
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    source = ProgramSource.of([PROGRAM])
    built = build_program(source, tmp_path_factory.mktemp("arithmetic"), tier=detect(), counted=True)
    assert built.path is not None, built.errors
    ran = run_program(source, built.path, tier=detect(), mode=Mode.COUNT)
    assert ran.report is not None and ran.ended == "exit status 0", ran.completed.output
    return ran.report


@pytest.mark.parametrize("name", THEORY)
def test_every_kernel(report: Report, name: str) -> None:
    (launch,) = (launch for launch in report.launches if launch.kernel == name)
    assert launch.arithmetic is not None
    counted = {kind: done.model_dump(exclude_defaults=True) for kind, done in launch.arithmetic.items()}
    assert {kind: {what: n for what, n in done.items() if n} for kind, done in counted.items()} == THEORY[name]


def test_traffic_is_what_it_is_without(report: Report, tmp_path: Path) -> None:
    source = ProgramSource.of([PROGRAM])
    built = build_program(source, tmp_path, tier=detect())
    assert built.path is not None, built.errors
    plain = run_program(source, built.path, tier=detect(), mode=Mode.COUNT).report
    assert plain is not None
    assert [launch.arithmetic for launch in plain.launches] == [None] * len(THEORY)
    assert plain.launches == [launch.model_copy(update={"arithmetic": None}) for launch in report.launches]


def test_a_program_whose_operators_cannot_count_is_counted_without(tmp_path: Path) -> None:
    # an operator of its author's takes whatever there is
    text = """
    struct Any { float v; };
    template <class T> __device__ T operator+(const T& a, Any b) { return T(a + b.v); }
    template <class T, class U> __device__ Any operator*(const T&, const U&) { return Any{2}; }
    struct Other {};
    __global__ void k(float* x) { x[0] = x[0] + Other() * Other(); }
    int main() {
        float* x;
        cudaMalloc(&x, 4);
        cudaMemset(x, 0, 4);
        k<<<1, 1>>>(x);
    }
    """
    (tmp_path / "k.cu").write_text(text)
    source = ProgramSource.of([tmp_path / "k.cu"])
    (tmp_path / "made").mkdir()
    built = build_program(source, tmp_path / "made", tier=detect(), counted=True)
    assert built.path is not None, built.errors
    done = run_program(source, built.path, tier=detect(), mode=Mode.COUNT).report
    assert done is not None
    (launch,) = done.launches
    assert (launch.global_load.bytes, launch.arithmetic) == (4, None)


def test_the_roofline_follows_from_flops_and_bytes(report: Report) -> None:
    (launch,) = (launch for launch in report.launches if launch.kernel == "product_tiled")
    found = estimate(launch, DEVICES["a100"], None)
    # two matrices of which one is read as both, and one written
    assert (found.flops, found.necessary_bytes) == ({"float": 2 * N**3}, 2 * 4 * N**2)
    assert found.arithmetic_us == pytest.approx(2 * N**3 / 19.5e6)
    assert found.intensity == pytest.approx(2 * N**3 / (8 * N**2))
