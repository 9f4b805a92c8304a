"""Errors and kernel facts in the output of nvcc, ptxas, host compiler and linker."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

ERRORS_KEPT = 20
TEXT_KEPT = 500
KERNELS_KEPT = 200

_FRONT_END = re.compile(
    r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): (?:catastrophic |internal )?error(?: #[\w-]+)?: (?P<text>.+)$"
)
_HOST = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.+)$")
_ASSEMBLER = re.compile(r"^(?P<tool>ptxas|nvlink)\b[^;\n]*?(?:error|fatal)\s*: (?P<text>.+)$")
_UNDEFINED = re.compile(r"(?P<text>(?:undefined reference to|multiple definition of|undefined symbol:) .+)$")
_TWICE = re.compile(r"multiple definition of [`'](?P<name>.+?)'; .*?(?P<first>[\w.+-]+)\.cudafe1\.cpp:")
_MADE_BY_NVCC = ("__device_stub__", "__nv_", "__sti____cuda")
_DRIVER = re.compile(
    r"^(?:nvcc|[\w+-]*(?:g\+\+|gcc|clang|cc1plus|collect2|ld))\s*:? (?:fatal )?error\s*: (?P<text>.+)$"
)
_EXIT = re.compile(r"^ld returned \d+ exit status$")
_FATAL = re.compile(r"^(?:nvcc|nvrtc)\s?:? (?:fatal|error)\s*: (?P<text>.+)$", re.MULTILINE)
_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)' for ")
_PROPERTIES = re.compile(r"Function properties for '?(?P<name>[^'\s]+)'?")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(?P<rest>.*)")
_UNDECLARED = re.compile(r'(?:^identifier|\bhas no member) "(?P<name>\w+)"')
_QUOTED = re.compile(r"['‘](\w+)['’]")
_PTX = re.compile(r"^\s*(?:@!?%\w+\s+)?(?P<op>[a-z]\w*)(?P<modifiers>(?:\.\w+|::\w+)*)\s", re.MULTILINE)
_WIDTH = re.compile(r"\.(?:v(?P<lanes>[248])\.)?[busf](?P<bits>8|16|32|64|128)$")


@dataclass(frozen=True)
class CompilerError:
    """One compiler error, at a line of the submission (0 if unknown)."""

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class KernelFacts:
    """ptxas's figures for one kernel; stack and spills are per thread, static shared memory per block."""

    name: str
    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    stack_bytes: int
    static_shared_bytes: int
    constant_bytes: int


def errors(log: str) -> tuple[CompilerError, ...]:
    """Return the first distinct errors, in order."""
    found = dict.fromkeys(error for line in log.splitlines() if (error := _read_error(line.rstrip())))
    telling = [error for error in found if not _EXIT.search(error.text)]
    return tuple(telling or found)[:ERRORS_KEPT]


def find_suggestion(log: str, error: CompilerError) -> str:
    """Return the name that gcc or clang suggests for the undeclared one, or an empty string."""
    name = find_undeclared_name(error)
    for said in errors(log):
        problem, _, advice = said.text.partition("; did you mean ")
        if (said.file, said.line) == (error.file, error.line) and name in _QUOTED.findall(problem):
            return "".join(_QUOTED.findall(advice)[:1])
    return ""


def find_undeclared_name(error: CompilerError) -> str:
    """Return the name that an error calls undeclared, or an empty string."""
    named = _UNDECLARED.search(error.text)
    return named["name"] if named else ""


def find_nvcc_problem(log: str) -> str | None:
    """Return nvcc's complaint about its command line or installation, or None."""
    found = _FATAL.search(log)
    return found["text"][:TEXT_KEPT] if found else None


def _read_error(line: str) -> CompilerError | None:
    placed = _FRONT_END.match(line) or _HOST.match(line)
    if placed:
        return CompilerError(_tidy(placed["file"]), int(placed["line"]), placed["text"][:TEXT_KEPT])
    tool = _ASSEMBLER.match(line)
    if tool:
        return CompilerError("", 0, f"{tool['tool']}: {demangle_text(tool['text'])}"[:TEXT_KEPT])
    twice = _TWICE.search(line)
    if twice:
        hidden = twice["name"].startswith(_MADE_BY_NVCC)
        said = f"multiple definition of `{twice['name']}`, first in {twice['first']}"
        return None if hidden else CompilerError("", 0, said[:TEXT_KEPT])
    other = _UNDEFINED.search(line) or _DRIVER.match(line)
    return CompilerError("", 0, other["text"][:TEXT_KEPT]) if other else None


def _tidy(file: str) -> str:
    # `a.h` for `./b/../a.h`
    parts: list[str] = []
    for part in PurePosixPath(file).parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return str(PurePosixPath(*parts))


def kernels(log: str) -> tuple[KernelFacts, ...]:
    """Return the resources of each kernel, as `-Xptxas -v` prints them."""
    return tuple(_read_kernels(log.splitlines()))[:KERNELS_KEPT]


def _read_kernels(lines: list[str]) -> Iterator[KernelFacts]:
    entry, described, frame = "", "", (0, 0, 0)
    for line in lines:
        if found := _ENTRY.search(line):
            entry, frame = found["name"], (0, 0, 0)
        elif found := _PROPERTIES.search(line):
            described = found["name"]
        elif found := _FRAME.search(line):
            # functions that were not inlined have their own frames: the kernel's is the one under its name
            if described == entry:
                frame = (int(found[1]), int(found[2]), int(found[3]))
        elif entry and (found := _USED.search(line)):
            rest = found["rest"]
            shared = re.search(r"(\d+) bytes smem", rest)
            constant = sum(int(n) for n in re.findall(r"(\d+) bytes cmem\[\d+\]", rest))
            stack, stores, loads = frame
            yield KernelFacts(
                demangle(entry), int(found[1]), stores, loads, stack, int(shared[1]) if shared else 0, constant
            )
            entry = ""


def ptx_facts(ptx: str) -> Mapping[str, int]:
    """Count kinds of instructions, loads and stores by their width in bytes."""
    counts: Counter[str] = Counter()
    for found in _PTX.finditer(ptx):
        name = _classify(found["op"], found["modifiers"])
        if name:
            counts[name] += 1
    return dict(sorted(counts.items()))


def _classify(op: str, modifiers: str) -> str | None:
    parts = modifiers.split(".")
    if op in ("ld", "ldu", "st") and "global" in parts:
        width = _WIDTH.search(modifiers)
        size = int(width["bits"]) // 8 * int(width["lanes"] or 1) if width else 0
        return f"ptx_global_{'store' if op == 'st' else 'load'}s_{size}B" if size else None
    if op in ("ld", "st") and "local" in parts:
        return f"ptx_local_{'stores' if op == 'st' else 'loads'}"
    if op in ("atom", "red"):
        return f"ptx_{'shared' if any(p.startswith('shared') for p in parts) else 'global'}_atomics"
    if op in ("bar", "barrier"):
        return "ptx_warp_barriers" if "warp" in parts else "ptx_block_barriers"
    kinds = {"shfl": "ptx_shuffles", "vote": "ptx_votes", "match": "ptx_votes", "redux": "ptx_warp_reductions"}
    if op in ("mma", "wmma", "wgmma"):
        return "ptx_matrix_instructions"
    return kinds.get(op)


def demangle(name: str) -> str:
    """Demangle a kernel's name if possible: `ns::softmax<256>` for `_ZN2ns7softmax...`."""
    name = re.sub(r"^__nv_static_\d+__\w*?_(?=_Z)", "", name)  # internal linkage
    if not name.startswith("_Z"):
        return name
    rest = re.sub(r"^_ZL?", "", name)
    parts: list[str] = []
    nested = rest.startswith("N")
    rest = rest.removeprefix("N")
    while found := re.match(r"L?(\d+)", rest):
        length, start = int(found[1]), found.end()
        part, rest = rest[start : start + length], rest[start + length :]
        if not part.startswith(("_GLOBAL__N_", "_INTERNAL_")):
            parts.append(part)
        if rest.startswith("I"):
            arguments, rest = _read_arguments(rest[1:])
            if parts:
                parts[-1] += arguments
        if not nested:
            break
    return "::".join(parts) or name


_TYPES = {
    "f": "float",
    "d": "double",
    "i": "int",
    "j": "unsigned",
    "l": "long",
    "m": "unsigned long",
    "b": "bool",
    "c": "char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "x": "long long",
    "y": "unsigned long long",
    "v": "void",
    "a": "signed char",
}


def _read_arguments(rest: str) -> tuple[str, str]:
    # plain types and numbers; `<...>` for any others
    words: list[str] = []
    while rest and not rest.startswith("E"):
        number = re.match(r"L([a-z])(n?\d+)E", rest)
        named = re.match(r"(\d+)", rest)
        if number:
            value = number[2].replace("n", "-")
            words.append({"0": "false", "1": "true"}.get(value, value) if number[1] == "b" else value)
            rest = rest[number.end() :]
        elif named:
            end = named.end() + int(named[1])
            words.append(rest[named.end() : end])
            rest = rest[end:]
        elif rest[0] in _TYPES:
            words.append(_TYPES[rest[0]])
            rest = rest[1:]
        else:
            return "<...>", ""
    return f"<{', '.join(words)}>", rest[1:]


def demangle_text(text: str) -> str:
    """Demangle the names in `text`."""
    return re.sub(r"\b_Z\w+", lambda found: demangle(found[0]), text)
