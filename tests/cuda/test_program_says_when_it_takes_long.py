"""A run that will take more than a minute is told of while it runs, once, by the rate that was measured."""

import json
from typing import Any

from harness.cuda.emulator.device_trace import last_progress
from harness.cuda.programs.slow_hint import SlowHint


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
