"""The options with which each C++ compiler builds for the emulated device."""

from functools import cache
from pathlib import Path

from harness.cuda.host_compiler import HostCompiler

_STANDARD = "gnu++17"
LANGUAGE = ("-x", "c++", f"-std={_STANDARD}")
C_LANGUAGE = ("-x", "c", "-std=gnu17")
STANDARDS = {f"c++{year}": f"gnu++{max(year, 17)}" for year in (11, 14, 17, 20)} | {"c++03": _STANDARD}
"""The language levels of nvcc, and what is compiled for each: the device's own headers need C++17."""
_COMMON = (
    "-O2", "-g1", "-fPIC", "-pipe", "-fno-strict-aliasing", "-ffp-contract=fast", "-fno-threadsafe-statics",
    "-fno-stack-protector", "-U_FORTIFY_SOURCE", "-Wno-unknown-pragmas",
)  # fmt: skip
_INSTRUMENTED_GCC = (
    "-fsanitize=thread", "--param=tsan-distinguish-volatile=1", "--param=tsan-instrument-func-entry-exit=0",
    # an author's struct of 16 bytes is one access, not one for each of its parts that is used
    "-fno-tree-sra",
    # of two functions alike only one would be left, and its lines
    "-fno-ipa-icf",
    # a shim that was jumped to would return to the caller's caller: not the author's line
    "-fno-optimize-sibling-calls",
)  # fmt: skip
_INSTRUMENTED_CLANG = (
    # clang instruments after its vectorisers and after it has made memcpy of loops: the author's accesses must be left
    "-fsanitize=thread", "-fno-vectorize", "-fno-slp-vectorize",
    "-mllvm", "-disable-loop-idiom-all", "-mllvm", "-disable-vector-combine", "-fno-optimize-sibling-calls",
    "-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm", "-tsan-distinguish-volatile=1",
    # it would leave out a read that a write to the same place follows
    "-mllvm", "-tsan-instrument-read-before-write=1",
)  # fmt: skip


def compile_flags(compiler: HostCompiler, *, instrumented: bool) -> tuple[str, ...]:
    """Options to compile rewritten source."""
    flags = (*_COMMON, *_machine(compiler), *_messages(compiler))
    if not instrumented:
        return flags
    return (*flags, *(_INSTRUMENTED_GCC if compiler.kind == "gcc" else _INSTRUMENTED_CLANG), "-DEMU_INSTRUMENTED")


def runtime_flags(compiler: HostCompiler) -> tuple[str, ...]:
    """Options to compile the runtime; only symbols marked as exported are visible outside."""
    return (*LANGUAGE, *_COMMON, *_machine(compiler), "-fvisibility=hidden")


def link_flags(*, program: bool) -> tuple[str, ...]:
    """Options to link; `{exports}` stands for the folder of the version script."""
    if program:
        return ("-Wl,--no-undefined", "-lm", "-ldl", "-lpthread")
    return (
        "-shared", "-Wl,--no-undefined", "-Wl,-Bsymbolic", "-Wl,--version-script={exports}/exports.map",
        "-lm", "-ldl", "-lpthread",
    )  # fmt: skip


EXPORTS = "{ local: _Z*; };\n"
"""A version script: C++ names are not exported."""


@cache
def _machine(compiler: HostCompiler) -> tuple[str, ...]:
    """AVX2 and fused multiply-add where this processor has them."""
    try:
        said = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    words = set(next((line for line in said.splitlines() if line.startswith("flags")), "").split())
    if not {"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "abm"} <= words:
        return ()
    return ("-march=x86_64_v3",) if compiler.kind == "zig" else ("-march=x86-64-v3",)


def _messages(compiler: HostCompiler) -> tuple[str, ...]:
    """Errors as lines that name the author's place, without quoting our rewritten text."""
    if compiler.kind == "gcc":
        return ("-fno-diagnostics-show-caret", "-fmax-errors=20", "-fno-gnu-unique")
    return ("-fno-caret-diagnostics", "-ferror-limit=20", "-Wno-unknown-attributes")
