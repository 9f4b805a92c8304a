"""Right kernels compute right values in every mode and schedule, and no defect is reported on any of them."""

from pathlib import Path

import pytest
from cuda_programs import ran

from harness.cuda.program import Mode

FOLDER = Path(__file__).parent / "clean"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.cu"))
WAITING = {"message_between_blocks", "producer_and_consumer_warps"}
"""Programs whose threads wait for others by reading volatile memory: in plain mode nothing takes the turn from them."""
ACROSS = "message_between_blocks"
MODES = (Mode.PLAIN, Mode.CHECK, Mode.COUNT, Mode.CHECK | Mode.COUNT)


def test_the_corpus_is_large_enough() -> None:
    assert len(PROGRAMS) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_reported(name: str) -> None:
    modes = [mode for mode in MODES if mode or name not in WAITING]
    for run in ran(FOLDER / f"{name}.cu", *modes, seeds=(0, 1) if name != ACROSS else (0,)):
        assert run.report is not None, run.ended
        assert not run.report.unsupported
        assert not run.report.found("error", "warning"), run.report.found("error", "warning")
        assert run.ended == "exit status 0", run.completed.output
        assert run.report.launches or run.report.mode == Mode.PLAIN


@pytest.mark.slow
def test_a_block_that_waits_for_a_later_one_is_no_fault() -> None:
    # blocks run one after the other here; schedule 1 begins with the one that waits
    (run,) = ran(FOLDER / f"{ACROSS}.cu", Mode.CHECK, seeds=(1,))
    assert run.report is not None
    assert [u.file for u in run.report.unsupported] == [f"{ACROSS}.cu"]
    assert not run.report.found("error", "warning")
