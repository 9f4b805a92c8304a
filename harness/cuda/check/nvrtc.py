"""The compiler gate with NVRTC alone, which compiles and judges device code only."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from harness.cuda.check.messages import CompilerError
from harness.cuda.check.nvcc import LOG_KEPT, PTX_KEPT, Compilation, Room, without_paths
from harness.cuda.compilers.nvcc import CudaCompiler

SCOPE = "device code only: host code is not compiled, templates only where device code uses them"

_SOURCES = frozenset({".cu", ".cuh", ".h", ".hpp", ".hh", ".inl", ".inc", ".cpp", ".c", ".cc", ""})
_FILE_LIMIT = 4 << 20
_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\([^)\n]*\))?[^\n]*\b__(?:device|global)__\b", re.MULTILINE)
_NO_TOKEN = re.compile(r"^unrecognized (?:token|preprocessing directive)|^missing closing quote")
_BODIES = ("compound_statement", "field_initializer_list")


@dataclass
class DeviceCode:
    """A copy of the submission with host functions blanked and the same lines.

    Attributes:
        device: line ranges of device functions, by file.
    """

    folder: Path
    device: dict[str, list[range]] = field(default_factory=dict)

    def is_nvcc_error(self, error: CompilerError) -> bool:
        """Return whether nvcc would report this error, too: in device functions, or on text that is no C++."""
        if 'namespace "std"' in error.text:  # from the host's own headers, which NVRTC lacks
            return False
        return _NO_TOKEN.search(error.text) is not None or any(
            error.line in lines for lines in self.device.get(error.file, ())
        )


def device_code(folder: Path, into: Path) -> DeviceCode:
    """Copy the sources of `folder` to `into`, without host functions."""
    code = DeviceCode(into)
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix in _SOURCES and path.is_file() and not path.is_symlink() and path.stat().st_size <= _FILE_LIMIT
    ]
    texts = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    macros = {name for text in texts.values() for name in _MACRO.findall(text)}
    marks = re.compile(rb"\b(?:" + b"|".join([rb"__global__|__device__|constexpr", *sorted(macros)]) + rb")\b")
    parser = Parser(Language(tree_sitter_cuda.language()))
    for name, text in texts.items():
        blanked = bytearray(text)
        for node, device in _find_functions(parser.parse(text).root_node, text, marks):
            if device:
                lines = range(node.start_point[0] + 1, node.end_point[0] + 2)
                code.device.setdefault(name, []).append(lines)
            else:
                removed = text[node.start_byte : node.end_byte]
                blanked[node.start_byte : node.end_byte] = re.sub(rb"[^\n]", b" ", removed)
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(blanked)
    return code


def _find_functions(root: Node, text: bytes, marks: re.Pattern[bytes]) -> Iterator[tuple[Node, bool]]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        inner = _find_definition(node)
        if inner is None:
            waiting += reversed(node.named_children)
            continue
        body = next((child for child in inner.children if child.type in _BODIES), None)
        if body is not None:
            yield node, marks.search(text, node.start_byte, body.start_byte) is not None


def _find_definition(node: Node) -> Node | None:
    while node.type in ("template_declaration", "linkage_specification"):
        below = [child for child in node.named_children if child.type != "string_literal"]
        if not below:
            return None
        node = below[-1]
    return node if node.type == "function_definition" else None


def compile_device_code(
    compiler: CudaCompiler, folder: Path, entries: Sequence[str], into: Path, room: Room, architecture: str
) -> tuple[Compilation, DeviceCode]:
    """Compile the device code of each entry, in the empty folder `into`.

    Raises:
        BoxError: failure to start the sandbox.
    """
    source, out = into / "source", into / "out"
    source.mkdir()
    out.mkdir()
    code = device_code(folder.resolve(), source)
    log, ptx, failed, exceeded = "", "", False, None
    for entry in entries:
        words = (*compiler.command, architecture, f"{{source}}/{entry}", entry, "{source}", "{out}/ptx")
        done = room.time.run(
            words,
            folder,
            tier=room.tier,
            memory_mib=room.memory_mib,
            extra={**compiler.folders, "source": source},
            writable={"out": out},
        )
        said = without_paths(done.output, compiler, source, out)
        log += said.replace("/extra/source/", "")[:LOG_KEPT]
        failed, exceeded = failed or done.returncode != 0, exceeded or done.exceeded
        text = out / "ptx"
        if text.is_file() and not text.is_symlink():
            with text.open("rb") as file:
                ptx += file.read(PTX_KEPT).decode(errors="replace")
            text.unlink()
    return Compilation(None if failed else out, log, ptx, exceeded), code
