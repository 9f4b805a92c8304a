"""No line of a submission makes the compiler read a file outside of it, by any name and in any tier."""

from pathlib import Path

import pytest
from gate_rooms import RIGHT, TIERS, needs_nvcc, put

from harness.cuda.check.nvcc import Room, compile_library
from harness.cuda.check.sources import refusals
from harness.cuda.check.verdict import gate
from harness.cuda.compilers.compile_time import CompileTime
from harness.cuda.compilers.nvcc import nvcc
from harness.model import Tier
from tests import shares
from tests.tiers_here import HELD

SECRET = "int this_is_the_secret;\n"

# SECRET_PATH stands for the absolute path of a file beside the submission's folder
READING = {
    "absolute": '#include "SECRET_PATH"',
    "absolute in brackets": "#include <SECRET_PATH>",
    "two slashes": "#include </SECRET_PATH>",
    "upwards": '#include "../secret.h"',
    "up and down": '#include "sub/../../secret.h"',
    "upwards in brackets": "#include <../secret.h>",
    "from a header": '#include "sub/outer.cuh"',
    "spliced": '#inc\\\nlude "../secret.h"',
    "commented": '# /* why */ include /* not */ "../secret.h"',
    "digraph": '%:include "../secret.h"',
    "macro": '#define NAME "../secret.h"\n#include NAME',
    "macro in brackets": "#define NAME <SECRET_PATH>\n#include NAME",
    "next": "#include_next <SECRET_PATH>",
    "import": '#import "../secret.h"',
    "embedded": '#embed "SECRET_PATH"',
    "embedded, own": '#embed "own.bin"',
    "asked for": '#if __has_include("SECRET_PATH")\n#endif',
    "depended on": '#pragma GCC dependency "SECRET_PATH"',
    "line of another file": '#line 1 "SECRET_PATH"\nint x = nothing;',
    "assembler": 'asm(".incbin \\"SECRET_PATH\\"");',
    "assembler, in pieces": 'asm(".inc" "bin \\"SECRET_PATH\\"");',
    "assembler, escaped": 'asm("\\x2e\\151ncbin \\"SECRET_PATH\\"");',
    "assembler, raw": 'asm(R"(.incbin "SECRET_PATH")");',
    "assembler, from a macro": "#define TEXT(x) #x\n#define NAME(x) TEXT(x)\nasm(NAME(.) NAME(incbin));",
    "assembler include": 'asm(".include \\"SECRET_PATH\\"");',
    "behind a digit separator": 'int n = 1\'000; /* \' */ const char* t = "\'/*";\n#include "../secret.h"\n// */',
}

READING_NOTHING = {
    "a comment": '// #include "/etc/passwd"\n/*\n#include "../../x"\n*/\n',
    "a string": 'static const char* text = "#include <../x>";\n',
    "a raw string": 'static const char* text = R"(\n#include "../x"\n)";\n',
    "a path within": '#include "sub/../sub/inner.cuh"\n',
    "headers of the compiler": "#include <cuda_fp16.h>\n#include <cooperative_groups.h>\n#include <cstdio>\n",
    "a question about a header": "#if __has_include(<cuda_bf16.h>)\n#include <cuda_bf16.h>\n#endif\n",
    "assembly for the device": (
        '__device__ int lane() { int l; asm volatile("mov.u32 %0, %%laneid;" : "=r"(l)); return l; }\n'
    ),
}


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    (tmp_path / "secret.h").write_text(SECRET)
    return put(tmp_path / "submission", sub__outer_cuh='#include "../../secret.h"\n', sub__inner_cuh="", own_bin="x")


def written(submission: Path, line: str) -> Path:
    text = line.replace("SECRET_PATH", str(submission.parent / "secret.h"))
    return put(submission, a_cu=f"{text}\n{RIGHT}")


@pytest.mark.parametrize("line", READING.values(), ids=list(READING))
def test_it_is_refused_before_a_compiler_reads_it(submission: Path, line: str) -> None:
    found = refusals(written(submission, line), ["a.cu"])
    assert found and all(r.line >= 1 for r in found)
    assert found[0].file == ("sub/outer.cuh" if "outer" in line else "a.cu")


@pytest.mark.parametrize("line", READING_NOTHING.values(), ids=list(READING_NOTHING))
def test_what_reads_nothing_outside_is_not_refused(submission: Path, line: str) -> None:
    assert refusals(written(submission, line), ["a.cu"]) == ()


def test_later_lines_keep_their_numbers_behind_continued_ones(submission: Path) -> None:
    put(submission, a_cu='#define LONG 1 + \\\n  2 + \\\n  3\nint x;\n#include "../secret.h"\n')
    assert [r.line for r in refusals(submission, ["a.cu"])] == [5]


def test_headers_that_include_each_other_end(submission: Path) -> None:
    put(submission, a_cu='#include "b.cuh"\n', b_cuh='#include "a.cu"\n#include "../secret.h"\n')
    assert [(r.file, r.line) for r in refusals(submission, ["a.cu"])] == [("b.cuh", 2)]


@needs_nvcc
@TIERS
def test_the_gate_says_which_line_it_refused(submission: Path, tier: Tier) -> None:
    said = gate(written(submission, '\n#include "../secret.h"'), ["a.cu"], ["twice"], tier=tier)
    assert said.ok is False
    assert said.text == 'a.cu:2: #include "../secret.h": outside the submission'


@needs_nvcc
@pytest.mark.parametrize("tier", HELD)
def test_the_box_hides_the_file_from_a_compiler_that_is_asked_all_the_same(submission: Path, tier: Tier) -> None:
    compiler = nvcc()
    assert compiler is not None
    names = shares.share([name for name in READING if name not in ("embedded, own", "asked for")], 4)
    refused = [READING[name] for name in names]
    for index, line in enumerate([*refused, '#include "/etc/hostname"', 'asm(".incbin \\"/etc/hostname\\"");']):
        into = submission.parent / f"out{index}"
        into.mkdir()
        done = compile_library(
            compiler, written(submission, line), ["a.cu"], into, Room(tier, CompileTime(60), 8192), architecture="sm_80"
        )
        assert done.library is None, f"built: {line}"
        assert "this_is_the_secret" not in done.log
