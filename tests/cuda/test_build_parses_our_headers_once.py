"""Our headers are parsed once for all answers, and what an answer becomes runs the same bytes as without that."""

import shutil
from pathlib import Path

import pytest
from built_programs import built
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from harness.box import detect
from harness.cuda import archive
from harness.cuda import build as room
from harness.cuda.host_compiler import host_compiler

HERE = Path(__file__).parent
KERNEL = HERE / "clean" / "softmax_online.cu"
FOUND = host_compiler()
pytestmark = pytest.mark.skipif(FOUND is None or FOUND.kind != "gcc", reason="g++ alone is given parsed headers")


@pytest.fixture
def objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The objects of the emulated device in a folder of the test's own, with no header parsed yet."""
    assert FOUND is not None
    shared = archive.runtime(FOUND)
    own = tmp_path / "objects"
    shutil.copytree(shared, own, ignore=shutil.ignore_patterns("parsed-*", ".parsing-*"))
    monkeypatch.setattr(archive, "runtime", lambda compiler: own)
    return own


def parsed(objects: Path) -> list[Path]:
    """What g++ made of the header, by name."""
    return sorted((objects / f"parsed-{detect().value}").glob("*/*"))


def told(program: Path) -> dict[str, bytes]:
    """The sections that are loaded, and the line table: not where variables lie, nor the digest of the whole file."""
    with program.open("rb") as file:
        sections = {s.name: s for s in ELFFile(file).iter_sections() if s.name != ".note.gnu.build-id"}
        loaded = {name: s.data() for name, s in sections.items() if s["sh_flags"] & SH_FLAGS.SHF_ALLOC}
        return {**loaded, "lines": sections[".debug_line"].data()}


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
    assert told(with_it.path) == told(without.path)


@pytest.mark.parametrize("instrumented", [False, True], ids=["plain", "instrumented"])
def test_the_compiler_takes_what_was_parsed(
    objects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instrumented: bool
) -> None:
    """A name that only the parsed header declares is known to a program as long as it is there."""
    ours = tmp_path / "rewriting"
    shutil.copytree(archive.HEADER.parent, ours)
    header = ours / archive.HEADER.name
    header.write_text(f"{header.read_text(encoding='utf-8')}\nconstexpr int planted = 7;\n", encoding="utf-8")
    program = tmp_path / "program" / "planted.cu"
    program.parent.mkdir()
    program.write_text("int main() { return planted; }\n", encoding="utf-8")

    with monkeypatch.context() as patched:
        patched.setattr(room, "_REWRITING", ours)
        assert compiled(monkeypatch, program, tmp_path / "first", instrumented=instrumented).path is not None
    assert compiled(monkeypatch, program, tmp_path / "taken", instrumented=instrumented).path is not None
    for made in parsed(objects):
        made.unlink()
    assert "planted" in compiled(monkeypatch, program, tmp_path / "gone", instrumented=instrumented).errors


def test_answers_cannot_write_what_was_parsed(objects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(monkeypatch, KERNEL, tmp_path / "made", instrumented=False)
    for path in (*parsed(objects), *{p.parent for p in parsed(objects)}):
        assert path.stat().st_uid == objects.stat().st_uid
        assert not path.stat().st_mode & 0o022


def test_an_answer_that_comes_while_another_has_it_parsed_is_built(objects: Path) -> None:
    """Whoever is first leaves it for all, and nobody leaves half of it."""
    assert FOUND is not None
    room._parse(FOUND, objects, detect())
    first = [(p.name, p.stat().st_mtime_ns) for p in parsed(objects)]
    room._parse(FOUND, objects, detect())
    assert [(p.name, p.stat().st_mtime_ns) for p in parsed(objects)] == first
    assert list(objects.glob(".parsing-*")) == []


def test_an_answer_is_built_where_nothing_could_be_parsed(
    objects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (objects / f"parsed-{detect().value}").mkdir()
    assert compiled(monkeypatch, KERNEL, tmp_path / "made", instrumented=True).path is not None
