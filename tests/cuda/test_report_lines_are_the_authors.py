"""Lines of reports are the author's, behind every stand-in too."""

import shutil
import subprocess
from pathlib import Path

import pytest
from cuda_programs import ran

from harness.cuda.compilers.host_compiler import host_compiler
from harness.cuda.emulator.device_trace import Report
from harness.cuda.emulator.symbols import Symbols, resolve
from harness.cuda.programs.program import Mode

SHIM = """#pragma once
inline __attribute__((always_inline)) float cached(const float* p) {
    return *p;
}
"""
KERNEL = """#line 1 "kernels/sum.cu"
#include "shim.h"
template <class T> static T pair(const T* p, int i) {
    return cached(p + i) +
        cached(p + 2 * i + 1);
}
extern "C" void k(float* y, const float* x, int n) {
    for (int i = 0; i < n; ++i)
        y[i] = pair(x, i);
    y[n] = 3;
}
"""
# writes where all accesses were called, inside the instruction, as offsets from where the program was loaded
HOOKS = """#include <dlfcn.h>
#include <cstdio>
static void say(char* pc) { Dl_info info; dladdr(pc, &info); printf("%td ", pc - 1 - (char*)info.dli_fbase); }
extern "C" {
void __tsan_read4(void*) { say((char*)__builtin_return_address(0)); }
void __tsan_write4(void*) { say((char*)__builtin_return_address(0)); }
void __tsan_unaligned_read16(void*) {}
void __tsan_unaligned_write16(void*) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
void k(float*, const float*, int);
}
int main() { float x[4] = {}, y[4]; k(y, x, 1); }
"""
COMPILERS = {
    "gcc, DWARF 5": ("g++", "-g", "-gdwarf-5"),
    "gcc, DWARF 4": ("g++", "-g", "-gdwarf-4"),
    "clang, DWARF 5": ("clang++", "-g1", "-gdwarf-5"),
    "clang, DWARF 4": ("clang++", "-g1", "-gdwarf-4"),
}


def compiler(name: str) -> str:
    found = shutil.which(name) or next((f for n in range(22, 12, -1) if (f := shutil.which(f"{name}-{n}"))), None)
    return found or pytest.skip(f"{name} is not on PATH")


@pytest.fixture(params=COMPILERS.values(), ids=COMPILERS)
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    name, *flags = request.param
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "shim.h").write_text(SHIM)
    (tmp_path / "kernel.cpp").write_text(KERNEL)
    (tmp_path / "hooks.cpp").write_text(HOOKS)
    words = (compiler(name), "-O2", *flags, "-Iinclude", "-fno-vectorize" if name == "clang++" else "-Wall")
    made = (
        (*words, "-fsanitize=thread", "-c", "kernel.cpp"),
        (*words, "-c", "hooks.cpp"),
        (words[0], "-pie", "kernel.o", "hooks.o", "-ldl", "-o", "program"),
    )
    for line in made:
        subprocess.run(line, cwd=tmp_path, check=True)
    return tmp_path / "program"


def test_lines_are_the_authors(program: Path) -> None:
    pcs = [int(word) for word in subprocess.run([program], capture_output=True, check=True).stdout.split()]
    defects = [
        {"kind": "global_race", "severity": "error", "text": "race", "pc": pc, "other": {"pc": pcs[0]}} for pc in pcs
    ]
    report = resolve(Report.model_validate({"version": 1, "defects": defects}), program, ["kernels/sum.cu"])
    assert [(d.file, d.line) for d in report.defects] == [("kernels/sum.cu", line) for line in (3, 4, 8, 9)]
    assert all(d.other and (d.other.file, d.other.line) == ("kernels/sum.cu", 3) for d in report.defects)


def test_all_lines_of_a_chain_are_known(program: Path) -> None:
    pc = int(subprocess.run([program], capture_output=True, check=True).stdout.split()[0])
    frames = Symbols(program).frames(pc)
    assert [(Path(f.file).name, f.line) for f in frames] == [("shim.h", 3), ("sum.cu", 3), ("sum.cu", 8)]


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF" + bytes(range(256)) * 8])
def test_what_is_no_program_resolves_to_nothing(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(data)
    assert Symbols(tmp_path / "program").frames(4096) == ()


PROGRAM = Path(__file__).parent / "through_shims" / "past_the_end.cu"


def test_each_kernel_is_named_with_its_marked_line() -> None:
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    marked = [number for number, line in enumerate(lines, start=1) if line.endswith("// FAULT")]
    (run,) = ran(PROGRAM, Mode.CHECK)
    assert run.report is not None, run.ended
    defects = run.report.found("error", "warning")
    assert {d.kind for d in defects} == {"out_of_bounds"}
    assert list(dict.fromkeys((d.file, d.line) for d in defects)) == [(PROGRAM.name, line) for line in marked]
    # a vector is one access of its size; so is an aligned struct, which clang takes apart
    compiler = host_compiler()
    struct = 16 if compiler is not None and compiler.kind == "gcc" else 4
    first = {d.line: d.bytes for d in reversed(defects)}
    assert [first[line] for line in marked] == [4, 16, 4, 16, struct, 4, 4, 4, 4]
