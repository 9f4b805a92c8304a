"""Whatever form CUDA source gives to kernels, launches, shared memory and variables, it runs with the right values."""

from pathlib import Path

import pytest
from built_programs import reported

from harness.cuda.emulator.build import build
from harness.sandbox import detect

INPUTS = Path(__file__).parent / "rewritten"
PROGRAMS = sorted(INPUTS.glob("*.cu"))


@pytest.mark.parametrize("instrumented", [False, True], ids=["plain", "instrumented"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_a_program_of_one_file(program: Path, instrumented: bool, tmp_path: Path) -> None:
    done = build(INPUTS, [program.name], tmp_path, tier=detect(), instrumented=instrumented, program=True)
    assert done.path is not None, done.errors
    status, report = reported(done.path, 3 if instrumented else 0)
    assert status == 0
    assert [d for d in report["defects"] if d["severity"] != "info"] == []


def test_a_program_of_several_files(tmp_path: Path) -> None:
    files = ["main.cu", "add.cu"]
    done = build(INPUTS / "several", files, tmp_path, tier=detect(), instrumented=True, program=True)
    assert done.path == tmp_path / "instrumented", done.errors
    status, report = reported(done.path, 3)
    assert status == 0
    assert [launch["kernel"] for launch in report["launches"]] == ["scale", "increment"]
