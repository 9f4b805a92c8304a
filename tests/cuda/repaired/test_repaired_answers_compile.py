"""A few edits make the bundled answers compile, so that what stopped the compiler is all that did."""

from pathlib import Path

import pytest
from repairs import COMPILING, repaired

from harness.cuda.check.verdict import gate
from harness.cuda.compilers.nvcc import nvcc
from harness.sandbox import detect

pytestmark = pytest.mark.skipif(nvcc() is None, reason="no nvcc with a host compiler: `make compilers` brings one")


@pytest.mark.parametrize("name", COMPILING)
def test_a_repaired_answer_compiles(name: str, tmp_path: Path) -> None:
    with repaired(COMPILING[name], tmp_path) as files:
        said = gate(files.path, ["adapter.cu"], ["fused_softmax_topk"], tier=detect())
    assert said.ok, said.text
