"""Rewriting follows includes inside the submission only, and ends in bounded time."""

import time
from pathlib import Path

import pytest

from harness.cuda.rewriting import SourceTree, rewrite
from harness.cuda.rewriting.submission import MAX_FILE_BYTES

LEAVING = {
    '#include "/etc/passwd"': "/etc/passwd",
    "#include </etc/passwd>": "/etc/passwd",
    '#include "../other.h"': "../other.h",
    '#include "sub/../../other.h"': "sub/../../other.h",
    "#include <../other.h>": "../other.h",
    "#include <sub/../../other.h>": "sub/../../other.h",
    '#  include /* why */ "../other.h"': "../other.h",
    '%: include "/etc/passwd"': "/etc/passwd",
    '#inc\\\nlude "/etc/passwd"': "/etc/passwd",
    '#include_next "/etc/passwd"': "/etc/passwd",
    '#import "/etc/passwd"': "/etc/passwd",
    '#define SECRET "/etc/passwd"\n#include SECRET': "/etc/passwd",
    "#define SECRET </etc/passwd>\n#include SECRET": "/etc/passwd",
    '#if __has_include("/etc/passwd")\n#endif': "/etc/passwd",
    '#if 0\n#elif defined(X) && __has_include("../other.h")\n#endif': "../other.h",
    "#define NAME(x) #x\n#include NAME(/etc/passwd)": "NAME",
}


@pytest.mark.parametrize("source", LEAVING)
def test_a_path_outside_is_named(tmp_path: Path, source: str) -> None:
    folder = tmp_path / "answer"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "other.h").write_text("int other;")
    (folder / "a.cu").write_text(source + "\n")
    problems = rewrite(folder, ["a.cu"]).problems
    assert len(problems) == 1
    assert LEAVING[source] in problems[0] and problems[0].startswith("a.cu:")


def test_a_link_out_of_the_submission_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "answer"
    folder.mkdir()
    (tmp_path / "other.h").write_text("int other;")
    (folder / "link.h").symlink_to(tmp_path / "other.h")
    (folder / "a.cu").write_text('#include "link.h"\n')
    assert set(rewrite(folder, ["a.cu"]).files) == {"a.cu"}


def test_embedding_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text('const char x[] = {\n#embed "/etc/passwd"\n};\n')
    assert rewrite(tmp_path, ["a.cu"]).problems == ("a.cu:2: #embed is not allowed",)


def test_included_files_are_rewritten_from_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "a.cu").write_text('#include "deep/er/b.cuh"\n#include <vector>\n#include "cuda_runtime.h"\n')
    (tmp_path / "deep" / "er" / "b.cuh").write_text('#include "../c.cuh"\n#include "deep/d.inc"\n')
    (tmp_path / "deep" / "c.cuh").write_text("__device__ int f() { return threadIdx.x; }\n")
    (tmp_path / "deep" / "d.inc").write_text("1, 2, 3")
    done = rewrite(tmp_path, ["a.cu"])
    assert not done.problems and not done.suspects
    assert set(done.files) == {"a.cu", "deep/er/b.cuh", "deep/c.cuh", "deep/d.inc"}
    assert b"return emu_thread_x();" in done.files["deep/c.cuh"]


def test_a_header_that_the_device_lacks_is_listed_and_no_longer_included(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("#include <cstdio>\n#include <thrust/sort.h>  // sorts\nint x;\n")
    done = rewrite(tmp_path, ["a.cu"])
    assert [(s.what, s.file, s.line) for s in done.suspects] == [("the header <thrust/sort.h>", "a.cu", 2)]
    assert b"\n#error the header <thrust/sort.h>" in done.files["a.cu"] and done.files["a.cu"].endswith(b"\nint x;\n")


def test_the_devices_cub_stands_in_for_nvidias_wherever_that_lies(tmp_path: Path) -> None:
    answer, theirs = tmp_path / "answer", tmp_path / "cccl"
    for header in ("cub/cub.cuh", "cub/device/device_scan.cuh", "cuda/barrier", "cuda/own.h"):
        (theirs / header).parent.mkdir(parents=True, exist_ok=True)
        (theirs / header).write_text("int theirs;\n")
    answer.mkdir()
    names = ("cub/cub.cuh", "cub/device/device_scan.cuh", "cuda/barrier", "cuda/own.h")
    (answer / "a.cu").write_text("".join(f"#include <{name}>\n" for name in names))
    done = rewrite(answer, ["a.cu"], SourceTree.of(answer, [theirs]))
    assert [s.what for s in done.suspects] == ["the header <cub/device/device_scan.cuh>"]
    assert set(done.files) == {"a.cu", "cccl/cuda/own.h"}


def test_an_entry_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert rewrite(tmp_path, ["gone.cu"]).problems == ("gone.cu: no such file in the submission",)
    assert rewrite(tmp_path, ["../gone.cu"]).problems == ("../gone.cu: no such file in the submission",)


SIZE = 100_000
SECONDS = 6
"""A file of this size takes some 0.4 s of processor time, the worst here 1.2; in quadratic time it is about 10."""
SHAPES = {
    "brackets": "(" * SIZE,
    "braces": "void f() " + "{" * SIZE,
    "launches": "k<<<" * (SIZE // 4),
    "closed launches": "k<<<1,1>>>(x);" * (SIZE // 14),
    "angles": "a<" * (SIZE // 2) + ">" * (SIZE // 2),
    "shared": "__shared__ " * (SIZE // 11),
    "shared variables": "__global__ void k() {" + "__shared__ int x;" * (SIZE // 17) + "}",
    "kernels": "__global__ void k(int x) {}" * (SIZE // 27),
    "quotes": '"' * SIZE,
    "comment": "/*" * (SIZE // 2),
    "directives": "#if 1\n" * (SIZE // 6),
    "macros": "#define X __shared__ int a[threadIdx.x]\n" * (SIZE // 41),
    "pointers": "__device__ int " + "*" * SIZE + "x;",
    "asm": "asm(" * (SIZE // 4),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_of_many_parts(tmp_path: Path, shape: str) -> None:
    (tmp_path / "a.cu").write_text(SHAPES[shape])
    start = time.process_time()
    rewrite(tmp_path, ["a.cu"])
    assert time.process_time() - start < SECONDS


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_bytes(b" " * (MAX_FILE_BYTES + 1))
    assert rewrite(tmp_path, ["a.cu"]).problems == ("a.cu: larger than 1024 KiB",)


def test_files_that_include_each_other_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text('#include "b.h"\n')
    (tmp_path / "b.h").write_text('#include "a.cu"\n#include "b.h"\n')
    assert set(rewrite(tmp_path, ["a.cu"]).files) == {"a.cu", "b.h"}
