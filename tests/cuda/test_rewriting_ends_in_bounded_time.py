"""However a source nests or repeats, it is rewritten in time that grows with its length."""

import time
from pathlib import Path

import pytest

from harness.cuda.rewriting import rewrite
from harness.cuda.rewriting.submission import MAX_FILE_BYTES

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
