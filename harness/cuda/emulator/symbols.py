"""Lines of the author's source for addresses in kernels, from debug information.

An access often lies in a shim inlined into the kernel, so its address has a chain of places, innermost first. The first
one in an author's file is reported.
"""

import posixpath
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TypeVar

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.dwarf.lineprogram import LineState
from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile

from harness.cuda.emulator.device_trace import DeviceLocation, Report

Span = tuple[int, int]
Placed = TypeVar("Placed", bound=DeviceLocation)
_FUNCTION, _INLINED, _BLOCK = "DW_TAG_subprogram", "DW_TAG_inlined_subroutine", "DW_TAG_lexical_block"
_NESTS = ("DW_TAG_namespace", "DW_TAG_class_type", "DW_TAG_structure_type")


@dataclass(frozen=True)
class Frame:
    """A source line; `file` is the name given to the compiler."""

    file: str
    line: int


def resolve(report: Report, binary: Path, sources: Collection[str]) -> Report:
    """Fill in file and line of a report's defects from their addresses.

    Args:
        binary: the file that ran; without readable debug information, lines stay empty.
        sources: the author's files, relative to their folder, as the report will name them.
    """
    try:
        symbols = _load_symbols(str(binary), binary.stat().st_mtime_ns)
    except OSError:
        return report
    defects = []
    for defect in report.defects:
        other = defect.other and _locate(defect.other, symbols, sources)
        defects.append(_locate(defect, symbols, sources).model_copy(update={"other": other}))
    lacking = [use.model_copy(update={"file": _match_name(use.file, sources)}) for use in report.unsupported]
    return report.with_defects(defects).model_copy(update={"unsupported": lacking})


def _locate(place: Placed, symbols: "Symbols", sources: Collection[str]) -> Placed:
    if place.pc is None:
        return place.model_copy(update={"file": _match_name(place.file, sources)})
    for frame in symbols.frames(place.pc):
        file = _find_author_file(frame.file, sources)
        if file is not None:
            return place.model_copy(update={"file": file, "line": frame.line})
    return place


def _match_name(file: str | None, sources: Collection[str]) -> str | None:
    return file and (_find_author_file(file, sources) or file)


def _find_author_file(file: str, sources: Collection[str]) -> str | None:
    # the longest match: `b/a.cu` rather than `a.cu`
    fitting = (source for source in sources if file == source or file.endswith(f"/{source}"))
    return max(fitting, key=len, default=None)


@lru_cache(maxsize=8)
def _load_symbols(path: str, changed: int) -> "Symbols":
    return Symbols(Path(path))


class Symbols:
    """Debug information of one ELF file, read on demand; without it, every lookup is empty."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[int, tuple[Frame, ...]] = {}

    def frames(self, pc: int) -> tuple[Frame, ...]:
        """Return the lines of an access, innermost first; empty if unknown.

        Args:
            pc: address inside the instruction, from the load address.
        """
        if pc not in self._known:
            try:
                self._known[pc] = self._look_up(pc)
            except Exception:  # untrusted source made the file: a parser failure on it is no fault of the harness
                self._known[pc] = ()
        return self._known[pc]

    def _look_up(self, address: int) -> tuple[Frame, ...]:
        for unit in self._units:
            if unit.covers(address):
                return tuple(unit.frames(address))
        return ()

    @cached_property
    def _units(self) -> list["_Unit"]:
        with self._path.open("rb") as file:
            elf = ELFFile(file)
            if not elf.has_dwarf_info():
                return []
            dwarf = elf.get_dwarf_info()  # copies the sections: the file may be closed
            return [_Unit(dwarf, unit) for unit in dwarf.iter_CUs()]


class _Unit:
    def __init__(self, dwarf: DWARFInfo, unit: CompileUnit) -> None:
        self._dwarf = dwarf
        self._unit = unit
        self._top = unit.get_top_DIE()
        self._spans = list(self._find_spans(self._top))

    def covers(self, address: int) -> bool:
        return any(low <= address < high for low, high in self._spans)

    def frames(self, address: int) -> Iterator[Frame]:
        here = self._find_line(address)
        if here is not None:
            yield here
        for die in reversed(self._find_inlined(address)):
            call_file, call_line = die.attributes.get("DW_AT_call_file"), die.attributes.get("DW_AT_call_line")
            if call_file and call_line:
                yield Frame(self._find_file(call_file.value), call_line.value)

    def _find_line(self, address: int) -> Frame | None:
        starts, rows = self._lines
        at = bisect_right(starts, address) - 1
        if at < 0 or rows[at] is None:
            return None
        file, line = rows[at] or (0, 0)
        return Frame(self._find_file(file), line)

    @cached_property
    def _lines(self) -> tuple[list[int], list[tuple[int, int] | None]]:
        """Start of each row of the line table, with its file and line; None ends a run of instructions."""
        program = self._dwarf.line_program_for_CU(self._unit)
        runs: list[list[LineState]] = [[]]
        for entry in program.get_entries() if program else ():
            if entry.state is not None:
                runs[-1].append(entry.state)
                if entry.state.end_sequence:
                    runs.append([])
        # functions that the linker dropped remain at address 0
        runs = sorted((run for run in runs if run and run[0].address), key=lambda run: run[0].address)
        states = [state for run in runs for state in run]
        rows = [None if state.end_sequence else (state.file, state.line) for state in states]
        return [state.address for state in states], rows

    def _find_inlined(self, address: int) -> list[DIE]:
        found: list[DIE] = []
        around = next((die for die, spans in self._functions if _is_within(address, spans)), None)
        while around is not None:
            inner = (die for die in around.iter_children() if die.tag in (_INLINED, _BLOCK))
            around = next((die for die in inner if _is_within(address, self._find_spans(die))), None)
            if around is not None and around.tag == _INLINED:
                found.append(around)
        return found

    @cached_property
    def _functions(self) -> list[tuple[DIE, list[Span]]]:
        found, nests = [], [self._top]
        while nests:
            for die in nests.pop().iter_children():
                if die.tag in _NESTS:
                    nests.append(die)
                elif die.tag == _FUNCTION and (spans := list(self._find_spans(die))):
                    found.append((die, spans))
        return found

    def _find_spans(self, die: DIE) -> Iterator[Span]:
        low, high = die.attributes.get("DW_AT_low_pc"), die.attributes.get("DW_AT_high_pc")
        if low and high:
            yield low.value, high.value if high.form == "DW_FORM_addr" else low.value + high.value
        ranges, lists = die.attributes.get("DW_AT_ranges"), self._dwarf.range_lists()
        if not ranges or lists is None:
            return
        start = self._top.attributes.get("DW_AT_low_pc")
        base = start.value if start else 0
        for entry in lists.get_range_list_at_offset(ranges.value, cu=self._unit):
            if isinstance(entry, BaseAddressEntry):
                base = entry.base_address
            else:
                offset = 0 if entry.is_absolute else base
                yield entry.begin_offset + offset, entry.end_offset + offset

    def _find_file(self, number: int) -> str:
        program = self._dwarf.line_program_for_CU(self._unit)
        if program is None:
            return ""
        header = program.header
        # folders and files count from 0 since DWARF 5, from 1 before
        first = 0 if header.version >= 5 else 1
        entry = header.file_entry[number - first]
        folders = [_decode(folder) for folder in header.include_directory]
        at = entry.dir_index - first
        return posixpath.normpath(posixpath.join(folders[at] if 0 <= at < len(folders) else "", _decode(entry.name)))


def _decode(name: bytes) -> str:
    return name.decode(errors="replace")


def _is_within(address: int, spans: Collection[Span] | Iterator[Span]) -> bool:
    return any(low <= address < high for low, high in spans)
