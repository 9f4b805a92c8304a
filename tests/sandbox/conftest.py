from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.model import Limits
from harness.sandbox import CallStatus, Tier, WorkerSession, WorkerSpec
from tests.tiers_here import HELD, drawn_for

Opened = Callable[..., WorkerSession]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test that asks for a tier runs in the strongest and in one of the others, or in all."""
    if "tier" in metafunc.fixturenames:
        metafunc.parametrize("tier", drawn_for(metafunc.function.__qualname__))


@pytest.fixture
def opened(tmp_path: Path, tier: Tier) -> Iterator[Opened]:
    """Opens a box on source text; closes it after the test."""
    boxes = []

    def make(source: str, *functions: str, **limits: float) -> WorkerSession:
        (tmp_path / "answer.py").write_text(source)
        box = WorkerSession(
            WorkerSpec(tmp_path, "answer.py", functions, Limits(**limits), tier, sources=("answer.py",))
        )  # type: ignore[arg-type]
        boxes.append(box)
        assert box.open().status is CallStatus.RETURNED
        return box

    yield make
    for box in boxes:
        box.close()


@pytest.fixture(params=HELD)
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WorkerSession]:
    """An open box around the `SOURCE` of the test's module, under its `LIMITS` where it has any."""
    (tmp_path / "answer.py").write_text(request.module.SOURCE)
    limits = getattr(request.module, "LIMITS", Limits())
    with WorkerSession(WorkerSpec(tmp_path, "answer.py", (), limits, request.param)) as box:
        assert box.open().status is CallStatus.RETURNED
        yield box
