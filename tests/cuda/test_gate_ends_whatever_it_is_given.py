"""The gate ends in bounded time and memory with a finding, whatever the source makes the compiler do."""

from pathlib import Path

import pytest
from gate_rooms import RIGHT, TIERS, needs_nvcc, put

from harness.cuda.check.sources import FILE_LIMIT, refusals
from harness.cuda.check.verdict import gate
from harness.model import Tier
from harness.sandbox.accounting import wall_bound
from harness.timing import clock

pytestmark = [needs_nvcc, TIERS]

# each level instantiates two of the next: the compiler would be at it for years
ENDLESS = """
template <int N, int M> struct Tree {
    static constexpr long value = Tree<N - 1, 2 * M>::value + Tree<N - 1, 2 * M + 1>::value;
};
template <int M> struct Tree<0, M> { static constexpr long value = M; };
long endless = Tree<28, 1>::value;
"""


def test_source_that_never_compiles_is_given_up(tmp_path: Path, tier: Tier, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing tells it from source that compiles for long: it is not said that it does not build."""
    monkeypatch.setattr(wall_bound, "FACTOR", 40.0)  # a busy machine gives the 4 s late
    said = gate(put(tmp_path, a_cu=ENDLESS), ["a.cu"], [], tier=tier, seconds=4, memory_mib=4096)
    assert said.ok is not True
    assert (said.ok, said.text) == (None, "not compiled within 4 s of processor time") or said.errors


def test_memory_without_end_is_refused(tmp_path: Path, tier: Tier) -> None:
    source = "constexpr char big[1ull << 33] = {1};\nconst char* p = big;\n"
    said = gate(put(tmp_path, a_cu=source), ["a.cu"], [], tier=tier, seconds=20, memory_mib=2048)
    assert said.ok is False and said.text


def test_a_file_that_includes_itself_is_an_error(tmp_path: Path, tier: Tier) -> None:
    said = gate(put(tmp_path, a_cu='#include "a.cu"\n'), ["a.cu"], [], tier=tier)
    assert said.ok is False and "depth" in said.text


def test_a_flood_of_warnings_hides_nothing_else(tmp_path: Path, tier: Tier) -> None:
    source = "".join(f"#warning {i} {'x' * 2000}\n" for i in range(500)) + RIGHT
    said = gate(put(tmp_path, a_cu=source), ["a.cu"], ["twice"], tier=tier)
    assert said.ok is True, said.text
    assert [k.name for k in said.kernels] == ["twice_kernel"]
    said = gate(put(tmp_path, a_cu=source + "int x = nothing;"), ["a.cu"], ["twice"], tier=tier)
    assert said.text == 'a.cu:513: identifier "nothing" is undefined'


@pytest.mark.parametrize("piece", ['R"a(', "/*", '"', "'", "1'", "#include ", "\\\n", 'R"(#', '"a\\'])
def test_source_is_read_in_time_that_grows_with_its_size(tmp_path: Path, piece: str, tier: Tier) -> None:
    put(tmp_path, a_cu=piece * ((1 << 18) // len(piece)))
    start = clock.now()
    refusals(tmp_path, ["a.cu"])
    assert clock.now() - start < 5  # a second is usual; one scan for each of its pieces would take hours


def test_bytes_that_are_no_text_are_refused(tmp_path: Path, tier: Tier) -> None:
    (tmp_path / "a.cu").write_bytes(bytes(range(256)) * 64)
    said = gate(tmp_path, ["a.cu"], [], tier=tier)
    assert said.ok is False and said.text
    said.text.encode()


def test_an_enormous_file_is_refused_unread(tmp_path: Path, tier: Tier) -> None:
    with (tmp_path / "a.cu").open("wb") as file:
        file.truncate(FILE_LIMIT + 1)
    said = gate(tmp_path, ["a.cu"], [], tier=tier)
    assert said.ok is False and "MiB" in said.text
