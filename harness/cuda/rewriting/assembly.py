"""Inline PTX of common kinds (docs/cuda-check.md) to C++; other PTX is unsupported if reached."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.cuda.rewriting.text.lexer import Token, brackets

_TYPES = {f"{kind}{n}": f"{'' if kind == 's' else 'u'}int{n}_t" for kind in "usb" for n in (8, 16, 32, 64)}
_TYPES |= {"f32": "float", "f64": "double", "pred": "bool"}
_LANE = "(::emu::linear_thread() & 31u)"
_TICKS = "::emu::ticks()"
_SPECIAL = {
    "laneid": _LANE,
    "warpid": "(::emu::linear_thread() / 32u)",
    "nwarpid": "32u",
    "smid": "0u",
    "nsmid": "108u",
    "gridid": "0u",
    **dict.fromkeys(("clock", "clock64", "globaltimer", "globaltimer_lo"), _TICKS),
    "lanemask_eq": f"(1u << {_LANE})",
    "lanemask_lt": f"((1u << {_LANE}) - 1u)",
    "lanemask_ge": f"(~0u << {_LANE})",
    "lanemask_le": f"(~0u >> (31u - {_LANE}))",
    "lanemask_gt": f"~(~0u >> (31u - {_LANE}))",
    **{
        f"{ptx}.{axis}": f"::emu::emu_{name}_{axis}()"
        for ptx, name in (("tid", "thread"), ("ctaid", "block"), ("ntid", "block_dim"), ("nctaid", "grid_dim"))
        for axis in "xyz"
    },
}
_INFIX = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "div": "/", "rem": "%"}
_CALLS = {
    "min": "::emu::ptx::lesser({1}, {2})",
    "max": "::emu::ptx::greater({1}, {2})",
    "neg": "-{1}",
    "not": "~{1}",
    "abs": "::emu::ptx::magnitude({1})",
    "fma": "::emu::ptx::fused({1}, {2}, {3})",
    "sqrt": "std::sqrt({1})",
    "rsqrt": "1 / std::sqrt({1})",
    "rcp": "1 / {1}",
    "ex2": "std::exp2({1})",
    "lg2": "std::log2({1})",
    "sin": "std::sin({1})",
    "cos": "std::cos({1})",
    "tanh": "std::tanh({1})",
    "popc": "::emu::ptx::ones({1})",
    "clz": "::emu::ptx::leading_zeros({1})",
    "brev": "__brev({1})",
    "mov": "{1}",
    "shl": "::emu::ptx::shifted_left({1}, {2})",
    "shr": "::emu::ptx::shifted_right({1}, {2})",
}
_PLAIN = frozenset(["rn", "ftz", "approx", "full", "lo", "hi", "wide"])
"""Modifiers that C++ arithmetic satisfies; others (another rounding, a carry) are unsupported."""
_ORDERED = frozenset(["acquire", "release", "relaxed", "volatile", "mmio", "bulk", "multimem", "async"])
"""Modifiers of accesses that are more than plain ones."""
_COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_STATEMENT = re.compile(r"(?:@(?P<not>!?)%?(?P<guard>\w+)\s+)?(?P<name>[a-z][\w.:]*)\s*(?P<operands>.*)", re.DOTALL)
_SHUFFLES = {
    "up": "__shfl_up_sync({4}, {1}, {2})",
    "down": "__shfl_down_sync({4}, {1}, {2})",
    "bfly": "__shfl_xor_sync({4}, {1}, {2})",
    "idx": "__shfl_sync({4}, {1}, {2})",
}


class _UnknownError(Exception):
    """An unsupported instruction."""


@dataclass
class _Translation:
    values: Sequence[bytes]
    outputs: int
    registers: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def read(self, operand: str, kind: str) -> str:
        cpp = _TYPES[kind]
        if match := re.fullmatch(r"%(\d+)", operand):
            if int(match[1]) >= len(self.values):
                raise _UnknownError(operand)
            return f"::emu::ptx::register_as<{cpp}>(__emu_v{match[1]})"
        name = operand.removeprefix("%%").removeprefix("%")
        if operand.startswith("%%") and name in _SPECIAL:
            return f"static_cast<{cpp}>({_SPECIAL[name]})"
        if operand.startswith("%%") and name == "total_smem_size":
            return f"static_cast<{cpp}>(::emu::dynamic_shared_bytes())"
        if name in self.registers:
            return f"::emu::ptx::register_as<{cpp}>({self.registers[name]})"
        if match := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", operand):
            return f"::emu::ptx::register_as<{cpp}>(uint32_t{{0x{match[1]}}})"
        if re.fullmatch(r"-?(?:(?:0[xX][0-9a-fA-F]+|\d+)U?|\d+\.\d*(?:[eE][+-]?\d+)?)", operand):
            return f"static_cast<{cpp}>({operand})"
        raise _UnknownError(operand)

    def write(self, operand: str, value: str) -> None:
        match = re.fullmatch(r"%(\d+)", operand)
        name = operand.removeprefix("%")
        if match and int(match[1]) < self.outputs:
            self.lines.append(f"::emu::ptx::put(__emu_v{match[1]}, {value});")
        elif name in self.registers:
            self.lines.append(f"::emu::ptx::put({self.registers[name]}, {value});")
        elif operand != "_":
            raise _UnknownError(operand)

    def place(self, operand: str, cpp: str, shared: bool) -> str:
        match = re.fullmatch(r"\[\s*(%?\w+)\s*(?:\+\s*(-?\w+)\s*)?\]", operand)
        if not match:
            raise _UnknownError(operand)
        where = "shared_place" if shared else "place"
        return f"::emu::ptx::{where}<{cpp}>({self.read(match[1], 'u64')}, {match[2] or 0})"


def mnemonic(tokens: Sequence[Token]) -> str:
    """Return a message's name for an `asm` statement, with its first instruction if found."""
    code = next((token.text.decode(errors="replace") for token in tokens if token.kind == "string"), "")
    match = re.search(r"(?:^|[;{\s]|\\n|\\t)([a-z]\w*(?:[.:]+\w+)+)", code.strip('"'))
    return f"inline assembly ({match[1]})" if match else "inline assembly"


def translate(tokens: Sequence[Token], text: bytes) -> bytes | None:
    """Translate an `asm` statement to C++ on one line; None if unsupported.

    Args:
        tokens: from `asm` to the closing parenthesis.
        text: source of the tokens' offsets.
    """
    opening = next((i for i, token in enumerate(tokens) if token.text == b"("), None)
    if opening is None:
        return None
    parts = _split_parts(tokens[opening + 1 : -1])
    if not parts or any(token.kind != "string" for token in parts[0]):
        return None
    code = "".join(token.text.decode(errors="replace").strip('"') for token in parts[0])
    operands = [_read_operands(part, text) for part in parts[1:3]]
    if any(found is None for found in operands):
        return None
    values = [value for found in operands for value in found or ()]
    translation = _Translation(values, len(operands[0] or ()) if operands else 0)
    try:
        for statement in re.split(r";|\\n", re.sub(r"//[^\\]*|\\t", " ", code)):
            whole = "{" in statement and "}" in statement
            _translate_statement(translation, statement.strip() if whole else statement.strip(" {}\n\t"))
    except (_UnknownError, KeyError, IndexError, StopIteration, ValueError):
        return None
    bound = b"".join(
        b"auto&& __emu_v%d = (%s); " % (i, b" ".join(value.split()).replace(b"\\ ", b""))
        for i, value in enumerate(values)
    )
    used = b"".join(b"(void)__emu_v%d; " % i for i in range(len(values)))
    return b"do { " + bound + used + " ".join(translation.lines).encode() + b" } while (0)"


def _split_parts(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    # template, outputs, inputs, clobbers
    partners, parts, start, index = brackets(tokens), [], 0, 0
    while index < len(tokens):
        if tokens[index].text in (b"(", b"["):
            index = partners.get(index, index)
        elif tokens[index].text in (b":", b"::"):
            parts.append(tokens[start:index])
            parts += [()] if tokens[index].text == b"::" else []
            start = index + 1
        index += 1
    return [*parts, tokens[start:]]


def _read_operands(tokens: Sequence[Token], text: bytes) -> list[bytes] | None:
    partners, values, index = brackets(tokens), [], 0
    while index < len(tokens):
        if tokens[index].kind == "string" and index + 1 < len(tokens) and (end := partners.get(index + 1)):
            values.append(text[tokens[index + 1].end : tokens[end].start])
            index = end + 1
            if index < len(tokens) and tokens[index].text != b",":
                return None
            index += 1
        else:
            return None
    return values


def _translate_statement(to: _Translation, statement: str) -> None:
    if not statement:
        return
    if match := re.fullmatch(r"\.reg\s+\.(\w+)\s+(.*)", statement, re.DOTALL):
        for name in re.split(r"\s*,\s*", match[2].strip()):
            register = f"__emu_r_{name.removeprefix('%')}"
            to.registers[name.removeprefix("%")] = register
            to.lines.append(f"{_TYPES[match[1]]} {register}{{}};")
        return
    parsed = _STATEMENT.fullmatch(statement)
    if parsed is None:
        raise _UnknownError(statement)
    operands = (
        [o.strip() for o in re.split(r",(?![^{\[]*[}\]])", parsed["operands"])] if parsed["operands"].strip() else []
    )
    if parsed["guard"]:
        to.lines.append(f"if ({parsed['not']}{to.registers[parsed['guard']]}) {{")
    name, *modifiers = parsed["name"].replace("::", ".").split(".")
    _translate_instruction(to, name, modifiers, operands)
    if parsed["guard"]:
        to.lines.append("}")


def _translate_instruction(to: _Translation, name: str, modifiers: list[str], operands: list[str]) -> None:
    kind = next((m for m in reversed(modifiers) if m in _TYPES), "b32")
    if name in ("ld", "ldu", "st"):
        _translate_access(to, name == "st", modifiers, kind, operands)
    elif name == "cp" and modifiers[:1] == ["async"]:
        _translate_copy_ahead(to, modifiers, operands)
    elif name in ("bar", "barrier", "membar", "fence", "nanosleep", "trap", "prefetch"):
        to.lines.append(_translate_ordering(to, name, modifiers, operands))
    elif name == "activemask":
        to.write(operands[0], "__activemask()")
    elif name == "shfl" and "sync" in modifiers:
        _translate_shuffle(to, modifiers, operands)
    elif name == "vote" and "sync" in modifiers:
        word = next(m for m in modifiers if m in ("ballot", "any", "all"))
        to.write(operands[0], f"__{word}_sync({to.read(operands[2], 'u32')}, {to.read(operands[1], 'pred')})")
    else:
        to.write(operands[0].split("|")[0], _translate_value(to, name, modifiers, kind, operands))


def _translate_ordering(to: _Translation, name: str, modifiers: list[str], operands: list[str]) -> str:
    if name in ("membar", "fence"):
        if {"proxy", "mbarrier_init"} & set(modifiers):
            raise _UnknownError(name)
        scope = "_block" if "cta" in modifiers else "_system" if "sys" in modifiers else ""
        return f"__threadfence{scope}();"
    if name == "bar" and modifiers == ["warp", "sync"]:
        return f"__syncwarp({to.read(operands[0], 'u32')});"
    if name in ("bar", "barrier"):
        if "sync" not in modifiers or operands != ["0"]:
            raise _UnknownError(name)
        return "__syncthreads();"
    return {"nanosleep": "::emu::yield();", "trap": "__trap();"}.get(name, "")


def _translate_value(to: _Translation, name: str, modifiers: list[str], kind: str, operands: list[str]) -> str:
    plain = name == "cvt" or {m for m in modifiers[:-1] if m not in _COMPARED} <= _PLAIN
    if modifiers[-1] not in _TYPES or not plain:
        raise _UnknownError(name)
    if name == "setp":
        return f"({to.read(operands[1], kind)} {_COMPARED[modifiers[0]]} {to.read(operands[2], kind)})"
    if name == "selp":
        return f"({to.read(operands[3], 'pred')} ? {to.read(operands[1], kind)} : {to.read(operands[2], kind)})"
    if name == "cvt":
        return _translate_conversion(to, modifiers, operands)
    if name == "lop3":
        a, b, c, table = (to.read(operand, "u32") for operand in operands[1:5])
        return f"::emu::ptx::looked_up({a}, {b}, {c}, {table})"
    if name == "prmt":
        return f"__byte_perm({', '.join(to.read(operand, 'u32') for operand in operands[1:4])})"
    if name in ("mul", "mad"):
        return _translate_product(to, name, modifiers, kind, operands)
    values = [to.read(operand, kind) for operand in operands[1:]]
    if name == "not" and kind == "pred":
        return f"!{values[0]}"
    if name in ("shl", "shr"):
        values[1] = to.read(operands[2], "u32")
    if name in _INFIX and len(values) == 2 and "cc" not in modifiers:
        if name in ("and", "or", "xor") and kind == "pred":
            return f"({values[0]} {_INFIX[name]} {values[1]})"
        return f"static_cast<{_TYPES[kind]}>({values[0]} {_INFIX[name]} {values[1]})"
    return f"static_cast<{_TYPES[kind]}>({_CALLS[name].format('', *values)})"


def _translate_conversion(to: _Translation, modifiers: list[str], operands: list[str]) -> str:
    target, source = modifiers[-2:]
    rounding = [m for m in modifiers[:-2] if m != "ftz"]
    # C++ casts round to integers towards zero, and to floats to the nearest
    narrows = target.startswith("f") and (not source.startswith("f") or (target, source) == ("f32", "f64"))
    truncates = source.startswith("f") and not target.startswith("f")
    if rounding != (["rn"] if narrows else ["rzi"] if truncates else []):
        raise _UnknownError("cvt")
    return f"static_cast<{_TYPES[target]}>({to.read(operands[1], source)})"


def _translate_product(to: _Translation, name: str, modifiers: list[str], kind: str, operands: list[str]) -> str:
    a, b = to.read(operands[1], kind), to.read(operands[2], kind)
    cpp = _TYPES[kind]
    if "wide" in modifiers:
        wide = kind[0] + str(2 * int(kind[1:]))
        product, cpp, kind = f"static_cast<{_TYPES[wide]}>({a}) * {b}", _TYPES[wide], wide
    elif "hi" in modifiers:
        product = f"::emu::ptx::high_half({a}, {b})"
    elif kind.startswith("f") or "lo" in modifiers:
        product = f"{a} * {b}"
    else:
        raise _UnknownError(name)
    return f"static_cast<{cpp}>({product}{f' + {to.read(operands[3], kind)}' if name == 'mad' else ''})"


def _translate_access(to: _Translation, store: bool, modifiers: list[str], kind: str, operands: list[str]) -> None:
    if not {"global", "shared", "const", "local", "param"} & set(modifiers) and modifiers[0] not in _TYPES:
        raise _UnknownError("space")
    if _ORDERED & set(modifiers):
        raise _UnknownError("order")
    count = next((int(m[1:]) for m in modifiers if m in ("v2", "v4")), 1)
    # a vector is one access
    address, values = (operands[0], operands[1]) if store else (operands[1], operands[0])
    parts = [p.strip() for p in values.strip("{} ").split(",")]
    if len(parts) != count:
        raise _UnknownError(values)
    cpp = _TYPES[kind] if count == 1 else f"::emu::ptx::Pack<{_TYPES[kind]}, {count}>"
    place = to.place(address, cpp, "shared" in modifiers)
    if store:
        listed = ", ".join(to.read(part, kind) for part in parts)
        to.lines.append(f"::emu::ptx::store({place}, {f'{cpp}{{{listed}}}' if count > 1 else listed});")
        return
    register = f"__emu_l_{len(to.lines)}"
    to.lines.append(f"const {cpp} {register} = ::emu::ptx::load({place});")
    for index, part in enumerate(parts):
        to.write(part, f"{register}.at[{index}]" if count > 1 else register)


def _translate_copy_ahead(to: _Translation, modifiers: list[str], operands: list[str]) -> None:
    if "commit_group" in modifiers or "wait_group" in modifiers or "wait_all" in modifiers:
        # the copy is done at once, so committing and waiting are no-ops
        return
    if "bulk" in modifiers or "mbarrier" in modifiers:
        raise _UnknownError("bulk")
    taken = to.read(operands[3], "u32") if len(operands) > 3 else to.read(operands[2], "u32")
    there, here = to.place(operands[0], "char", True), to.place(operands[1], "const char", False)
    to.lines.append(f"::emu::ptx::copied_ahead({there}, {here}, {to.read(operands[2], 'u32')}, {taken});")


def _translate_shuffle(to: _Translation, modifiers: list[str], operands: list[str]) -> None:
    # shuffles over the whole warp only: other clamps make segments
    if operands[3] not in ("0x1f", "31", "0", "0x0") or "|" in operands[0]:
        raise _UnknownError("shfl")
    word = next(m for m in modifiers if m in _SHUFFLES)
    values = ["", to.read(operands[1], "b32"), to.read(operands[2], "u32"), "", to.read(operands[4], "u32")]
    to.write(operands[0], _SHUFFLES[word].format(*values))
