"""Source files recorded in the objects of `harness cuda cc`."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from harness.cuda.programs.program import ProgramSource
from harness.errors import NotFoundError

_SECTION = ".emu.sources"
_PLAIN = re.compile(rb"[\w./+ -]")
_MAGIC = b"\x7fELF"


def mark(paths: Iterable[str]) -> str:
    """Return a header that stores the paths in an object's section, which the linker concatenates."""
    named = "".join(f'"\\t.asciz \\"{_escape(path)}\\"\\n"\n' for path in paths)
    return f'__asm__(".pushsection {_SECTION},\\"\\",%progbits\\n"\n{named}".popsection\\n");\n'


def _escape(path: str) -> str:
    # an assembler string inside a C string literal
    return "".join(chr(b) if _PLAIN.fullmatch(bytes((b,))) else f"\\\\{b:03o}" for b in os.fsencode(path))


def is_program(file: Path) -> bool:
    """Return whether a file is an ELF program or object."""
    try:
        with file.open("rb") as opened:
            return opened.read(4) == _MAGIC
    except OSError:
        return False


def source_of(program: Path, root: Path | None = None) -> ProgramSource:
    """Read the source files of a program from its objects.

    Args:
        program: a program linked by `harness cuda cc`.
        root: folder that it runs in and can read; None for the current one.

    Raises:
        NotFoundError: a program of another compiler.
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
