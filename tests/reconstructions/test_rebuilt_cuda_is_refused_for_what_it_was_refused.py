"""The compiler refuses the rebuilt CUDA answers where it refused what they are rebuilt from, and takes the baseline."""

import pytest

from harness.cuda.check.verdict import CompilerResult, gate
from harness.cuda.compilers.nvcc import nvcc
from harness.sandbox import detect, snapshot
from tests.checkout import WORKSPACE
from tests.reconstructed import folder_of

CHALLENGE = "fused_softmax_topk"

pytestmark = pytest.mark.skipif(nvcc() is None, reason="no nvcc with a host compiler: `make compilers` brings one")


def compiled(model: str, *files: str) -> CompilerResult:
    """What the compiler says of an answer, or of other files of it."""
    place = folder_of(model, CHALLENGE)
    entries = files or WORKSPACE.submission(place).entries
    with snapshot(place) as copy:
        return gate(copy.path, entries, () if files else (CHALLENGE,), tier=detect())


def test_the_baseline_compiles_without_spills_or_stack() -> None:
    said = compiled("baseline")
    assert said.ok, said.text
    assert [(k.spill_store_bytes, k.spill_load_bytes, k.stack_bytes) for k in said.kernels] == [(0, 0, 0)]


def test_the_baselines_comparison_compiles() -> None:
    said = compiled("baseline", "compare.cu", "naive.cu", "fused_softmax_topk.cu")
    assert said.ok, said.text


def test_minimax_answers_with_a_document() -> None:
    said = compiled("minimax-m2.7")
    assert said.ok is False
    assert (said.errors[0].file, said.errors[0].line) == ("fused_softmax_topk.cu", 1)


def test_glm_uses_a_constant_it_never_declares() -> None:
    said = compiled("glm-5")
    assert [e.text for e in said.errors] == ['identifier "FLT_MAX" is undefined'] * 3


def test_qwens_comments_go_on_outside_a_comment() -> None:
    said = compiled("qwen3.6-27b")
    first = said.errors[0]
    line = (folder_of("qwen3.6-27b", CHALLENGE) / first.file).read_text().splitlines()[first.line - 1]
    assert line == "   Warp-level primitives"
