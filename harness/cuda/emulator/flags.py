"""Compiler options for the emulated device."""

from functools import cache
from pathlib import Path

from harness.cuda.compilers.host_compiler import HostCompiler

_STANDARD = "gnu++17"
LANGUAGE = ("-x", "c++", f"-std={_STANDARD}")
C_LANGUAGE = ("-x", "c", "-std=gnu17")
STANDARDS = {f"c++{year}": f"gnu++{max(year, 17)}" for year in (11, 14, 17, 20)} | {"c++03": _STANDARD}
"""gcc's language standard for each of nvcc's; the device's own headers need C++17."""
_COMMON = (
    *("-O2", "-g1", "-fPIC", "-pipe", "-fno-strict-aliasing", "-ffp-contract=fast", "-fno-threadsafe-statics"),
    *("-fno-stack-protector", "-U_FORTIFY_SOURCE", "-Wno-unknown-pragmas"),
)
_INSTRUMENTED_GCC = (
    "-fsanitize=thread",
    "--param=tsan-distinguish-volatile=1",
    "--param=tsan-instrument-func-entry-exit=0",
    # keep an author's 16-byte struct one access, instead of one for each member in use
    "-fno-tree-sra",
    # would merge identical functions, and their line numbers with them
    "-fno-ipa-icf",
    # a tail call to a shim returns to the caller's caller, which is not the author's line
    "-fno-optimize-sibling-calls",
)
_INSTRUMENTED_CLANG = (
    # clang instruments after vectorising and after turning loops into memcpy: keep the author's accesses
    *("-fsanitize=thread", "-fno-vectorize", "-fno-slp-vectorize", "-mllvm", "-disable-loop-idiom-all"),
    *("-mllvm", "-disable-vector-combine", "-fno-optimize-sibling-calls"),
    *("-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm", "-tsan-distinguish-volatile=1"),
    # by default clang skips a read that a write to the same address follows
    *("-mllvm", "-tsan-instrument-read-before-write=1"),
)


def compile_flags(compiler: HostCompiler, *, instrumented: bool) -> tuple[str, ...]:
    """Return the options for compiling rewritten source."""
    flags = (*_COMMON, *_choose_machine_flags(compiler), *_choose_message_flags(compiler))
    if not instrumented:
        return flags
    return (*flags, *(_INSTRUMENTED_GCC if compiler.kind == "gcc" else _INSTRUMENTED_CLANG), "-DEMU_INSTRUMENTED")


def runtime_flags(compiler: HostCompiler) -> tuple[str, ...]:
    """Return the options for the runtime, whose symbols are hidden unless marked."""
    return (*LANGUAGE, *_COMMON, *_choose_machine_flags(compiler), "-fvisibility=hidden")


def link_flags(*, program: bool) -> tuple[str, ...]:
    """Return the link options; `{exports}` stands for the folder of the version script."""
    libraries = ("-Wl,--no-undefined", "-lm", "-ldl", "-lpthread")
    shared = ("-shared", "-Wl,-Bsymbolic", "-Wl,--version-script={exports}/exports.map")
    return libraries if program else (*shared, *libraries)


EXPORTS = "{ local: _Z*; };\n"
"""Linker version script that keeps C++ names local."""


@cache
def _choose_machine_flags(compiler: HostCompiler) -> tuple[str, ...]:
    try:
        said = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    words = set(next((line for line in said.splitlines() if line.startswith("flags")), "").split())
    if not {"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "abm"} <= words:
        return ()
    return ("-march=x86_64_v3",) if compiler.kind == "zig" else ("-march=x86-64-v3",)


def _choose_message_flags(compiler: HostCompiler) -> tuple[str, ...]:
    # errors must not quote our rewritten text
    if compiler.kind == "gcc":
        return ("-fno-diagnostics-show-caret", "-fmax-errors=20", "-fno-gnu-unique")
    return ("-fno-caret-diagnostics", "-ferror-limit=20", "-Wno-unknown-attributes")
