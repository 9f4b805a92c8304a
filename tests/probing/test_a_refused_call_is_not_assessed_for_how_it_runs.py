"""A call that the device refuses shows nothing of its accesses, their order or its launches."""

import json
import types
from typing import Any

import pytest

from harness.cuda.emulator.device_trace import parse
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.checked import require_launches, require_sound_accesses
from harness.probing.failures import CallRefused, ProbeFailure
from harness.probing.launching import DeviceCall

REFUSED = {"kind": "invalid_launch", "severity": "error", "text": "60000 bytes of dynamic shared memory"}
OUTSIDE = {"kind": "out_of_bounds", "severity": "error", "text": "write of 4 bytes"}
RAN = [{"kernel": "k", "grid": [1, 1, 1], "block": [1, 1, 1], "threads": 1}]


def call(code: int, *defects: dict[str, Any], launches: list[dict[str, Any]] | None = None) -> DeviceCall:
    report = parse(json.dumps({"version": 1, "mode": 1, "defects": defects, "launches": launches or []}).encode())
    assert report is not None
    return DeviceCall(code, "check", report, {})


@pytest.mark.parametrize("code", [0, 1])
def test_a_refused_launch_is_a_refused_call(code: int) -> None:
    with pytest.raises(CallRefused) as seen:
        require_launches(call(code, REFUSED), "here")
    assert seen.value.title == "a legal call is refused"
    assert seen.value.detail == f"here: it returns {code}; 60000 bytes of dynamic shared memory"


def test_a_launch_refused_before_another_is_no_access(local: LocalAnswer) -> None:
    report = require_launches(call(0, REFUSED, launches=RAN), "here")
    require_sound_accesses(local, report, "here")


def test_what_ran_is_assessed_although_the_call_failed(local: LocalAnswer) -> None:
    report = require_launches(call(1, OUTSIDE), "here")
    with pytest.raises(ProbeFailure, match="memory out of bounds is touched"):
        require_sound_accesses(local, report, "here")


@pytest.fixture
def local() -> LocalAnswer:
    return LocalAnswer(types.ModuleType("answer"))
