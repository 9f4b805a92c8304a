"""A device file and a folder are in the box when the target names them, at their own paths, and not otherwise."""

from pathlib import Path

import pytest

from harness.model import Limits
from harness.sandbox import CallStatus, Scalar, Tier, WorkerSession, WorkerSpec
from tests.tiers_here import NAMESPACED

ASKING = """
import os, resource

def sees(path):
    return int(os.path.exists(path))

def addresses_limited():
    return int(resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY)
"""
BESIDE = Path("/etc/passwd")
"""Lies in a folder that the box does not show by itself."""
FUNCTIONS = ("sees", "addresses_limited")
DEVICE = Path("/dev/kmsg")
"""Stands for a GPU's device file: one that the box's own /dev does not have."""


@pytest.mark.skipif(not DEVICE.exists(), reason=f"{DEVICE} is not here to stand for a device")
@pytest.mark.parametrize("shown", [True, False])
def test_what_is_named_is_shown(tmp_path: Path, tier: Tier, shown: bool) -> None:
    folder = tmp_path / "answer"
    folder.mkdir()
    (folder / "answer.py").write_text(ASKING)
    devices = (DEVICE, BESIDE.parent) if shown else ()
    with WorkerSession(WorkerSpec(folder, "answer.py", FUNCTIONS, Limits(), tier, devices)) as box:
        assert box.open().status is CallStatus.RETURNED
        seen = [box.call("sees", str(p), returns=Scalar(int)).value for p in (DEVICE, BESIDE)]
        assert seen == ([1, 1] if shown or tier not in NAMESPACED else [0, 0])
        assert box.call("addresses_limited", returns=Scalar(int)).value == (0 if shown else 1)
