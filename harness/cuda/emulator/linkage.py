"""Link rules that keep submissions, native code beside the emulated device, from its internal state.

The device's own symbols get names that no source can spell. Objects that refer to more than kernels and launches need
are not linked.
"""

import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

LIST = Path(__file__).with_name("library_symbols.txt")
HIDDEN = "emu hidden "
"""Prefix of the device's own symbols; C++ names have no blanks."""
_DRIVEN = re.compile("emu_(?:start|fill|name|allocate|free|write|read|stream|error|report)")
"""Functions for the program's driver: exported, but closed to the submission."""
_OFFERED = re.compile(
    r"_ZN3emu\d+(?:configure|launch|linear_thread|on_device|shared|dynamic_shared(?:_bytes)?|kernel_(?:malloc|free|new|clock)|ticks"
    r"|(?:grid_)?barrier|is_cooperative|exchange|inactive_lane|live_lanes|atomic|fence|access|yield|trap|unsupported|SymbolC[12])E.*"
    r"|_ZN3emu3api\d\w+|emu_(?:thread|block|block_dim|grid_dim)_[xyz]|__tsan_\w+|__assert_fail"
    r"|(?:_Z\d+)?cu(?:da|blas)[A-Z]\w*|nvtx\w+"
)
_CXX_REFUSED = re.compile(r"10filesystem|basic_filebuf|basic_[io]?fstream|__basic_file|St6thread|13random_device")
_INTRINSIC = re.compile(
    r"__(?:add|sub|mul|div|udiv|mod|umod|neg|abs|ash|lsh|rsh|clz|ctz|ffs|parity|popcount|fix|float|trunc|extend|pow|cmp"
    r"|ucmp|eq|ne|lt|le|gt|ge|unord)\w*[hsdxtb]?[fi]\d?|__cxa_\w+|_Unwind_\w+|_ITM_\w+|__(?:isoc\d\d_)?(?:sscanf|strto\w+)"
    r"|__\w+_chk"
)


@dataclass(frozen=True)
class Names:
    """External symbols of an object: undefined (`asked`) and defined."""

    asked: frozenset[str]
    defined: frozenset[str]


def names_of(path: Path) -> Names:
    """Return the external symbols of an object file.

    Raises:
        ELFError: no object file; `struct` and Unicode errors likewise.
    """
    asked: set[str] = set()
    defined: set[str] = set()
    with path.open("rb") as file:
        for symbol in _read_table(ELFFile(file)).iter_symbols():
            if symbol["st_info"]["bind"] != "STB_LOCAL" and symbol.name:
                (asked if symbol["st_shndx"] == "SHN_UNDEF" else defined).add(symbol.name)
    return Names(frozenset(asked), frozenset(defined))


def refusals(answer: Mapping[str, Path], device: Sequence[Path]) -> list[str]:
    """Return the reasons not to link a submission with the device, a line each.

    Args:
        answer: the submission's objects by source file.
        device: the device's objects, after `hide`.
    """
    runtime = [names_of(path) for path in device]
    known = frozenset().union(*(names.defined for names in runtime))
    lent = frozenset().union(*(names.asked for names in runtime)) - known
    try:
        theirs = {file: names_of(path) for file, path in answer.items()}
    except Exception as error:  # untrusted source made them: a parser failure is the submission's own doing
        return [f"the object file cannot be read: {type(error).__name__}"]
    own = frozenset().union(*(names.defined for names in theirs.values()))
    reasons = []
    for file, names in theirs.items():
        reasons += [
            f"{file}: uses `{name}`, {_explain(name)}" for name in sorted(names.asked - own) if not _may_ask(name)
        ]
        taken = sorted(names.defined & (known | lent))
        reasons += [f"{file}: defines `{name}`, which the device relies on" for name in taken]
    return reasons


def hide(objects: Iterable[Path]) -> None:
    """Rename in place all symbols of the device's objects that submissions must not use.

    Args:
        objects: 64-bit little-endian ELF objects; all of the device's, since they refer to each other.
    """
    paths = list(objects)
    private = {
        n for names in map(names_of, paths) for n in names.defined if not (_is_offered(n) or _DRIVEN.fullmatch(n))
    }
    for path in paths:
        path.write_bytes(_rename(path, private))


def _rename(path: Path, private: set[str]) -> bytes:
    """Rename symbols: the string table moves to the end, with the new names appended."""
    data = bytearray(path.read_bytes())
    with path.open("rb") as file:
        elf = ELFFile(file)
        table = _read_table(elf)
        number = table["sh_link"]
        strings = bytearray(elf.get_section(number).data())
        for index, symbol in enumerate(table.iter_symbols()):
            if symbol.name in private and symbol["st_info"]["bind"] != "STB_LOCAL":
                struct.pack_into("<I", data, table["sh_offset"] + index * table["sh_entsize"], len(strings))
                strings += HIDDEN.encode() + symbol.name.encode() + b"\0"
        header = elf["e_shoff"] + number * elf["e_shentsize"]
    struct.pack_into("<QQ", data, header + 24, len(data), len(strings))  # sh_offset and sh_size
    return bytes(data + strings)


def _read_table(elf: ELFFile) -> SymbolTableSection:
    table = elf.get_section_by_name(".symtab")
    if not isinstance(table, SymbolTableSection):
        raise ELFError("an object without symbols")
    return table


def _is_offered(name: str) -> bool:
    # rewritten source and the shims refer to these
    return _OFFERED.fullmatch(name) is not None


def _may_ask(name: str) -> bool:
    if _is_runtime_name(name):
        return _is_offered(name)
    if name.startswith("_Z"):
        return not _CXX_REFUSED.search(name)
    return _is_offered(name) or name in _load_library_names() or _INTRINSIC.fullmatch(name) is not None


def _explain(name: str) -> str:
    return "which is the device's own" if _is_runtime_name(name) else "which a kernel and its launch have no use for"


def _is_runtime_name(name: str) -> bool:
    return "3emu" in name or _DRIVEN.fullmatch(name) is not None


@cache
def _load_library_names() -> frozenset[str]:
    return frozenset(_read_list(LIST.read_text(encoding="utf-8")))


def _read_list(text: str) -> Iterator[str]:
    part = ""
    for line in text.splitlines():
        if line.startswith("["):
            part = line.strip("[]")
        elif not line.startswith("#"):
            for word in line.split():
                yield word
                if part == "math":
                    stem, mark, reentrant = word.partition("_r")
                    yield from (f"{stem}{kind}{mark}{reentrant}" for kind in "fl")
