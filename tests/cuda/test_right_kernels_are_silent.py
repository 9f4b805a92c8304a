"""Right kernels compute right values in every mode and schedule, and no defect is reported on any of them."""

from pathlib import Path

import pytest
from cuda_programs import ran, ran_each

from harness.cuda.programs.program import Mode
from tests import shares

FOLDER = Path(__file__).parent / "clean"
PROGRAMS = sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.cu"))
MODES = (Mode.PLAIN, Mode.CHECK, Mode.COUNT, Mode.CHECK | Mode.COUNT)


def test_the_corpus_is_large_enough() -> None:
    kernels = sum((FOLDER / f"{name}.cu").read_text().count("__global__ void") for name in PROGRAMS)
    assert kernels >= 60


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_reported(name: str) -> None:
    every = [(mode, seed) for mode in MODES for seed in (0, 1)]
    # some of the runs of each program, other ones for each: no program is left out
    drawn = shares.share(every, 3, drawn_by=None if shares.everything() else f"{shares.seed()} {name}")
    for run in ran_each(FOLDER / f"{name}.cu", drawn):
        assert run.report is not None, run.ended
        assert not run.report.unsupported
        assert not run.report.found("error", "warning"), run.report.found("error", "warning")
        assert run.ended == "exit status 0", run.completed.output
        assert run.report.launches or run.report.mode == Mode.PLAIN


def test_a_block_that_waits_for_a_later_one_is_no_fault() -> None:
    # blocks run one after the other, in order
    (run,) = ran(FOLDER.parent / "unsupported" / "message_from_a_later_block.cu", Mode.CHECK)
    assert run.report is not None
    assert [u.file for u in run.report.unsupported] == ["message_from_a_later_block.cu"]
    assert not run.report.found("error", "warning")


def test_a_barrier_after_threads_have_exited_is_a_remark() -> None:
    """From compute capability 7.0 on a barrier waits for the threads that have not exited (CUDA programming guide)."""
    (run,) = ran(FOLDER / "barrier_after_return.cu", Mode.CHECK)
    assert run.report is not None
    (remark,) = [defect for defect in run.report.defects if defect.kind.startswith("barrier")]
    assert (remark.kind, remark.severity) == ("barrier_after_exit", "info")
    assert "28 of 128 threads of the block have left" in remark.text
