"""Whatever bytes an answer's process leaves as its report, they are read as a report within bounds or not at all."""

import json

import pytest

from harness.cuda.emulator.device_trace import REPORT_BYTES, parse, parse_stream

DEFECT = {
    "kind": "global_race", "severity": "error", "text": "write of 4 bytes", "kernel": "k", "launch": 0,
    "block": [0, 0, 0], "thread": [5, 0, 0], "space": "global", "access": "write", "bytes": 4, "buffer": "x",
    "offset": -4, "pc": 4660, "file": None, "line": None, "count": 17,
    "other": {"access": "read", "block": [0, 0, 0], "thread": [7, 0, 0], "pc": 4711, "file": None, "line": None},
}  # fmt: skip
LAUNCH = {
    "kernel": "k", "grid": [4, 1, 1], "block": [256, 1, 1], "threads": 1024, "finished": True,
    "global_load": {"bytes": 400, "requests": 4, "sectors": 20, "ideal_sectors": 16},
    "shared_load": {"bytes": 400, "requests": 4, "wavefronts": 128, "ideal_wavefronts": 4},
    "buffers": {"x": {"read_bytes": 400}},
}  # fmt: skip


def written(**parts: object) -> bytes:
    return json.dumps({"version": 1, **parts}).encode()


def test_a_report_is_read_with_its_derived_figures() -> None:
    report = parse(written(defects=[DEFECT], launches=[LAUNCH], a_later_field={"of": "no concern"}))
    assert report is not None
    (defect,), (launch,) = report.found(), report.launches
    assert (defect.offset, defect.other and defect.other.thread) == (-4, (7, 0, 0))
    assert (launch.global_load.per_request, launch.global_load.over_ideal) == (5.0, 1.25)
    assert launch.shared_load.conflict_factor == 32.0
    assert launch.global_store.per_request is None
    assert launch.buffers["x"].read_bytes == 400


def test_padding_is_no_part_of_it() -> None:
    assert parse(written() + b"\0" * 100) == parse(written()) == parse(written() + b"   \n")


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\0\0", b"\xff\xfe", b"[", b"null", b"[" * 100_000, written()[:-1], b'{"version":2}', b"{}",
        b'{"version":1,"seed":' + b"9" * 5000 + b"}", b'{"version":1,"seed":NaN}', b'{"version":1,"seed":"1"}',
        written(truncated="yes"), written(defects=[DEFECT | {"kind": "X" * 50}]),
        written(defects=[DEFECT | {"severity": "none"}]), written(defects=[DEFECT | {"block": [0, 0]}]),
        written(defects=[DEFECT | {"count": -1}]), written(defects=[DEFECT] * 300),
        written(launches=[LAUNCH | {"buffers": {str(i): {} for i in range(300)}}]),
        written(launches=[LAUNCH | {"kernel": "k" * 5000}]), b" " * 10 + written(text="x" * REPORT_BYTES),
    ],
)  # fmt: skip
def test_what_is_no_report_is_none(data: bytes) -> None:
    assert parse(data) is None


def test_what_was_told_before_the_report_is_read_where_there_is_none() -> None:
    told = [{"launch": LAUNCH, "ordinal": 0}, {"defect": DEFECT}, {"launch": LAUNCH, "ordinal": 40}]
    lines = b"\n".join(json.dumps(line).encode() for line in told)
    pieced = parse_stream(lines + b'\n{"defect":{"kind":"glob')
    assert pieced is not None and not pieced.whole
    assert (len(pieced.defects), sum(launch.count for launch in pieced.launches)) == (1, 41)
    assert [launch.finished for launch in pieced.launches] == [True, False]
    assert parse_stream(lines + b"\n" + written(defects=[])) == parse(written(defects=[]))
    stopped = parse_stream(lines + b'\n{"stopped":{"why":"time","launches":50,"block":3,"blocks":9}}\n')
    assert stopped is not None and stopped.stopped is not None and stopped.stopped.block == 3
    assert sum(launch.count for launch in stopped.launches) == 50


@pytest.mark.parametrize("data", [b"", b"\0", b"[\n[", b'{"defect":1}', b"\xff\n" * 100, b"x" * (REPORT_BYTES + 1)])
def test_lines_that_are_none_are_no_report(data: bytes) -> None:
    assert parse_stream(data) is None
