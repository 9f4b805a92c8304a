"""Bytes, requests, sectors and wavefronts that are counted equal an enumeration of the kernels' index formulas."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cuda_programs import ran

from harness.cuda.emulator.device_trace import KernelLaunch, Report
from harness.cuda.programs.program import Mode, ProgramSource, build_program, run_program
from harness.sandbox import detect

PROGRAM = Path(__file__).parent / "theory" / "traffic.cu"
LOAD, STORE, ATOMIC = "load", "store", "atomic"


@dataclass(frozen=True)
class Access:
    """What one thread does at one place of the source; places are told apart by `at`."""

    at: str
    what: str
    buffer: int | None  # None: shared memory
    offset: int
    bytes: int


Thread = Callable[[int, int], Iterator[Access]]


@dataclass(frozen=True)
class Theory:
    blocks: int
    threads: int
    thread: Thread  # the accesses of thread t of block b, in order

    def requests(self, what: str, *, shared: bool) -> list[list[tuple[int, int]]]:
        """(offset, bytes) of the lanes of a warp that come to a place for the n-th time together."""
        requests = defaultdict(list)
        for block in range(self.blocks):
            for t in range(self.threads):
                turn: Counter[str] = Counter()
                for a in self.thread(block, t):
                    turn[a.at] += 1
                    if a.what == what and (a.buffer is None) == shared:
                        requests[block, t // 32, a.at, turn[a.at]].append((a.offset, a.bytes))
        return list(requests.values())

    def buffers(self) -> dict[str, dict[str, int]]:
        moved: dict[str, Counter[str]] = defaultdict(Counter)
        seen: dict[tuple[str, str], set[int]] = defaultdict(set)
        words = {LOAD: "read", STORE: "written", ATOMIC: "atomic"}
        for block in range(self.blocks):
            for t in range(self.threads):
                for a in self.thread(block, t):
                    if a.buffer is not None:
                        name = f"buffer {a.buffer}"
                        moved[name][f"{words[a.what]}_bytes"] += a.bytes
                        seen[name, words[a.what]].update(range(a.offset, a.offset + a.bytes))
        for (name, word), touched in seen.items():
            if word != "atomic":
                moved[name][f"unique_{word}_bytes"] = len(touched)
        return {name: dict(counts) for name, counts in moved.items()}


def sectors(requests: list[list[tuple[int, int]]]) -> dict[str, int]:
    """Allocations start at multiples of 256 bytes, so an offset tells the sector."""
    return {
        "bytes": sum(n for lanes in requests for _, n in lanes),
        "requests": len(requests),
        "sectors": sum(len({b // 32 for at, n in lanes for b in range(at, at + n)}) for lanes in requests),
        "ideal_sectors": sum(-(-len({b for at, n in lanes for b in range(at, at + n)}) // 32) for lanes in requests),
    }


def wavefronts(requests: list[list[tuple[int, int]]]) -> dict[str, int]:
    """Lanes go together as 32 at 4 bytes, 16 at 8 and 8 at 16; a bank gives one word of 4 bytes at a time."""
    count = ideal = 0
    for lanes in requests:
        together = 32 * 4 // max(4, lanes[0][1])
        for first in range(0, len(lanes), together):
            words = {b // 4 for at, n in lanes[first : first + together] for b in range(at, at + n)}
            count += max(Counter(word % 32 for word in words).values())
            ideal += -(-len(words) // 32)
    return {
        "bytes": sum(n for lanes in requests for _, n in lanes),
        "requests": len(requests),
        "wavefronts": count,
        "ideal_wavefronts": ideal,
        "lone_requests": sum(len(lanes) == 1 for lanes in requests),
    }


COLUMNS, X, OUT, X4, OUT4, H, OUT_H, BINS, KEYS = 1003, *range(8)


def read(at: str, buffer: int | None, index: int, size: int = 4) -> Access:
    return Access(at, LOAD, buffer, index * size, size)


def write(at: str, buffer: int | None, index: int, size: int = 4) -> Access:
    return Access(at, STORE, buffer, index * size, size)


def passes(count: int) -> Thread:
    def thread(b: int, t: int) -> Iterator[Access]:
        for number in range(count):
            for c in range(t, COLUMNS, 96):
                yield read(f"pass {number}", X, b * COLUMNS + c)
                if number == 2:
                    yield write("out", OUT, b * COLUMNS + c)
        if count < 3:
            yield write("out", OUT, b * 96 + t)

    return thread


def thread_per_row(b: int, t: int) -> Iterator[Access]:
    for c in range(75):
        yield read("x", X, t * 75 + c)
    yield write("out", OUT, t)


def every_other(b: int, t: int) -> Iterator[Access]:
    yield read("x", X, 2 * (b * 64 + t) + 1)
    yield write("out", OUT, b * 64 + t)


def vectors(b: int, t: int) -> Iterator[Access]:
    for i in range(b * 64 + t, 333, 128):
        yield read("x", X4, i, 16)
        yield write("out", OUT4, i, 16)


def halves(b: int, t: int) -> Iterator[Access]:
    if b * 96 + t < 371:
        yield read("x", H, b * 96 + t + 1, 2)
        yield write("out", OUT_H, b * 96 + t, 2)


def one_for_all(b: int, t: int) -> Iterator[Access]:
    yield read("x", X, b)
    yield write("out", OUT, b * 64 + t)


def count_up(b: int, t: int) -> Iterator[Access]:
    yield read("x", KEYS, t)
    yield Access("bins", ATOMIC, BINS, t * t % 8 * 4, 4)


def banks(stride: int) -> Thread:
    def thread(b: int, t: int) -> Iterator[Access]:
        for i in range(t, 32 * stride, 32):
            yield write("fill", None, i)
        yield read("shared", None, t * stride)
        yield write("out", OUT, t)

    return thread


def banks_of_vectors(b: int, t: int) -> Iterator[Access]:
    yield read("x", X4, t, 16)
    yield write("fill", None, t, 16)
    yield read("shared", None, 63 - t, 16)
    yield write("out", OUT4, t, 16)


def banks_broadcast(b: int, t: int) -> Iterator[Access]:
    yield write("fill", None, t)
    yield read("shared", None, t // 8)
    yield write("out", OUT, t)


THEORY = {
    "one_pass": Theory(3, 96, passes(1)),
    "two_passes": Theory(3, 96, passes(2)),
    "three_passes": Theory(3, 96, passes(3)),
    "thread_per_row": Theory(1, 40, thread_per_row),
    "every_other": Theory(3, 64, every_other),
    "vectors": Theory(2, 64, vectors),
    "halves": Theory(4, 96, halves),
    "one_for_all": Theory(3, 64, one_for_all),
    "count_up": Theory(1, 64, count_up),
    **{f"banks_{stride}": Theory(1, 32, banks(stride)) for stride in (1, 2, 4, 32, 33)},
    "banks_of_vectors": Theory(1, 64, banks_of_vectors),
    "banks_broadcast": Theory(1, 32, banks_broadcast),
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    source = ProgramSource.of([PROGRAM])
    built = build_program(source, tmp_path_factory.mktemp("traffic"), tier=detect())
    assert built.path is not None, built.errors
    ran = run_program(source, built.path, tier=detect(), mode=Mode.COUNT)
    assert (ran.ended, ran.report and ran.report.truncated) == ("exit status 0", False), ran.completed.output
    assert ran.report is not None
    return ran.report


@pytest.fixture
def launch(report: Report, name: str) -> KernelLaunch:
    (found,) = (launch for launch in report.launches if launch.kernel == name)
    return found


@pytest.mark.parametrize("name", THEORY)
class TestEveryKernel:
    def test_global_memory(self, launch: KernelLaunch, name: str) -> None:
        theory = THEORY[name]
        counted = {what: getattr(launch, f"global_{what}").model_dump() for what in (LOAD, STORE, ATOMIC)}
        assert counted == {what: sectors(theory.requests(what, shared=False)) for what in (LOAD, STORE, ATOMIC)}

    def test_shared_memory(self, launch: KernelLaunch, name: str) -> None:
        theory = THEORY[name]
        counted = {what: getattr(launch, f"shared_{what}").model_dump() for what in (LOAD, STORE, ATOMIC)}
        assert counted == {what: wavefronts(theory.requests(what, shared=True)) for what in (LOAD, STORE, ATOMIC)}

    def test_every_buffer(self, launch: KernelLaunch, name: str) -> None:
        right = THEORY[name].buffers()
        counted = {buffer: moved.model_dump(exclude_defaults=True) for buffer, moved in launch.buffers.items()}
        for moved in counted.values():
            for sectors_too in ("read_sectors", "written_sectors"):
                moved.pop(sectors_too, None)
        assert {buffer: moved for buffer, moved in counted.items() if moved} == right

    def test_the_launch_itself(self, launch: KernelLaunch, name: str) -> None:
        theory = THEORY[name]
        assert (launch.grid, launch.block) == ((theory.blocks, 1, 1), (theory.threads, 1, 1))
        assert launch.threads == theory.blocks * theory.threads


def test_passes_and_conflicts_come_out_as_they_are_called(report: Report) -> None:
    size = 3 * COLUMNS * 4
    launches = {launch.kernel: launch for launch in report.launches}
    for name, count in {"one_pass": 1, "two_passes": 2, "three_passes": 3}.items():
        assert launches[name].buffers["buffer 0"].read_bytes == count * size
    for ways in (1, 2, 4, 32):
        assert launches[f"banks_{ways}"].shared_load.conflict_factor == ways
    assert launches["banks_33"].shared_load.conflict_factor == 1
    assert launches["thread_per_row"].global_load.per_request == pytest.approx((32 + 8) / 2)


def test_what_was_written_astray_is_no_traffic_of_a_later_buffer() -> None:
    (run,) = ran(PROGRAM.with_name("stray.cu"), Mode.COUNT)
    assert run.report is not None
    (first,) = (launch for launch in run.report.launches if launch.kernel == "first")
    (later,) = first.buffers.values()
    assert (later.written_bytes, later.unique_written_bytes) == (4, 4)
