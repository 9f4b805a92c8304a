"""A program made by `harness cuda cc`, opened for a run: it names the files that its objects were made of."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from harness.cuda.program import ProgramSource
from harness.errors import NotFoundError

_SECTION = ".emu.sources"
_PLAIN = re.compile(rb"[\w./+ -]")
_MAGIC = b"\x7fELF"


def mark(paths: Iterable[str]) -> str:
    """A header that leaves the paths in a section of the object, which the linker joins with those of others."""
    named = "".join(f'"\\t.asciz \\"{_escaped(path)}\\"\\n"\n' for path in paths)
    return f'__asm__(".pushsection {_SECTION},\\"\\",%progbits\\n"\n{named}".popsection\\n");\n'


def _escaped(path: str) -> str:
    """A path as a string of the assembler within one of C."""
    return "".join(chr(b) if _PLAIN.fullmatch(bytes((b,))) else f"\\\\{b:03o}" for b in os.fsencode(path))


def is_program(file: Path) -> bool:
    """Whether a file is a program or an object rather than source."""
    try:
        with file.open("rb") as opened:
            return opened.read(4) == _MAGIC
    except OSError:
        return False


def source_of(program: Path, root: Path | None = None) -> ProgramSource:
    """The source of a program as its objects name it.

    Args:
        program: linked by `harness cuda cc`.
        root: the folder it runs in and can read, None for the current one.

    Raises:
        NotFoundError: it was not made by `harness cuda cc`.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with program.open("rb") as file:
            section = ELFFile(file).get_section_by_name(_SECTION)
            data = section.data() if section is not None else b""
    except ELFError as error:
        raise NotFoundError(f"{program}: cannot be read ({error})") from error
    paths = dict.fromkeys(os.fsdecode(path) for path in data.split(b"\0") if path)
    if not paths:
        raise NotFoundError(f"{program}: is no program of `harness cuda cc`; build it with that in place of nvcc")
    folder = (root or Path.cwd()).resolve()
    inside = (path.removeprefix(f"{folder}/") for path in paths)
    return ProgramSource(folder, (program.name,), listed=tuple(inside))
