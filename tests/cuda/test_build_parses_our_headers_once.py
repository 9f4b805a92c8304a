"""Our headers are parsed once for all answers, and what an answer becomes runs the same bytes as without that."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from built_programs import built
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from harness.cuda.compilers.host_compiler import host_compiler
from harness.cuda.emulator import archive
from harness.cuda.emulator import build as room
from harness.sandbox import detect

HERE = Path(__file__).parent
KERNEL = HERE / "clean" / "softmax_online.cu"
FOUND = host_compiler()
pytestmark = pytest.mark.skipif(FOUND is None or FOUND.kind != "gcc", reason="g++ alone is given parsed headers")


PLANTED = "planted"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The objects of the emulated device beside our header, parsed with a name more than it has."""
    assert FOUND is not None
    place = tmp_path_factory.mktemp("parsed")
    shutil.copytree(archive.HEADER.parent, place / "rewriting")
    with (place / "rewriting" / archive.HEADER.name).open("a", encoding="utf-8") as header:
        header.write(f"\nconstexpr int {PLANTED} = 7;\n")
    copied = place / "objects"
    shutil.copytree(archive.runtime(FOUND), copied, ignore=shutil.ignore_patterns("parsed-*", ".parsing-*"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(room, "_REWRITING", place / "rewriting")
        room._parse(FOUND, copied, detect())
    return copied


@pytest.fixture
def objects(first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same for one test alone."""
    own = tmp_path / "objects"
    shutil.copytree(first, own)
    monkeypatch.setattr(archive, "runtime", lambda compiler: own)
    return own


def parsed(objects: Path) -> list[Path]:
    """What g++ made of the header, by name."""
    return sorted((objects / f"parsed-{detect().value}").glob("*/*"))


def runs_as(program: Path) -> dict[str, object]:
    """Read the sections that are loaded, and the line of each address.

    Leave out where variables lie, the digest of the whole file and the folders of files: tier C compiles under the
    machine's own paths, and the parsed header comes from a copy.
    """
    with program.open("rb") as file:
        elf = ELFFile(file)
        sections = {s.name: s for s in elf.iter_sections() if s.name != ".note.gnu.build-id"}
        loaded = {name: s.data() for name, s in sections.items() if s["sh_flags"] & SH_FLAGS.SHF_ALLOC}
        return {**loaded, "lines": list(lines(elf))}


def lines(elf: ELFFile) -> Iterator[tuple[int, bytes, int]]:
    dwarf = elf.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        names = [entry.name for entry in program["file_entry"]]
        for row in program.get_entries():
            if row.state is not None and not row.state.end_sequence:
                yield row.state.address, names[row.state.file], row.state.line


def compiled(monkeypatch: pytest.MonkeyPatch, file: Path, into: Path, *, instrumented: bool) -> room.Built:
    assert FOUND is not None
    return built(monkeypatch, FOUND, file, into, instrumented=instrumented)


@pytest.mark.parametrize("instrumented", [False, True], ids=["plain", "instrumented"])
def test_what_runs_and_the_lines_it_came_from_are_the_same(
    objects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instrumented: bool
) -> None:
    with_it = compiled(monkeypatch, KERNEL, tmp_path / "with", instrumented=instrumented)
    assert [p.name for p in parsed(objects)] == ["instrumented", "plain"]
    for made in parsed(objects):
        made.unlink()
    without = compiled(monkeypatch, KERNEL, tmp_path / "without", instrumented=instrumented)
    assert parsed(objects) == []
    assert with_it.path is not None and without.path is not None
    assert runs_as(with_it.path) == runs_as(without.path)


@pytest.mark.parametrize("instrumented", [False, True], ids=["plain", "instrumented"])
def test_the_compiler_takes_what_was_parsed(
    objects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instrumented: bool
) -> None:
    """A name that only the parsed header declares is known to a program as long as it is there."""
    program = tmp_path / "program" / "asks.cu"
    program.parent.mkdir()
    program.write_text(f"int main() {{ return {PLANTED}; }}\n", encoding="utf-8")
    assert compiled(monkeypatch, program, tmp_path / "taken", instrumented=instrumented).path is not None
    for made in parsed(objects):
        made.unlink()
    assert PLANTED in compiled(monkeypatch, program, tmp_path / "gone", instrumented=instrumented).errors


def test_answers_cannot_write_what_was_parsed(objects: Path) -> None:
    for path in (*parsed(objects), *{p.parent for p in parsed(objects)}):
        assert path.stat().st_uid == objects.stat().st_uid
        assert not path.stat().st_mode & 0o022


def test_who_comes_second_takes_what_the_first_left(objects: Path) -> None:
    """And leaves nothing half made beside it."""
    assert FOUND is not None
    before = [(p.name, p.stat().st_mtime_ns) for p in parsed(objects)]
    room._parse(FOUND, objects, detect())
    assert [(p.name, p.stat().st_mtime_ns) for p in parsed(objects)] == before
    assert list(objects.glob(".parsing-*")) == []


def test_the_first_answer_of_a_tier_has_it_parsed(
    objects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(objects / f"parsed-{detect().value}")
    assert compiled(monkeypatch, KERNEL, tmp_path / "made", instrumented=True).path is not None
    assert [p.name for p in parsed(objects)] == ["instrumented", "plain"]


def test_an_answer_is_built_where_nothing_could_be_parsed(
    objects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(objects / f"parsed-{detect().value}")
    (objects / f"parsed-{detect().value}").mkdir()
    assert compiled(monkeypatch, KERNEL, tmp_path / "made", instrumented=True).path is not None
