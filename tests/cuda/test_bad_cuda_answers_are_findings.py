"""Whatever an answer in CUDA does wrong becomes a finding with its reason, in bounded time, and the grade goes on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cuda.compilers.nvcc import cuda_compiler
from harness.grading.options import Options
from harness.grading.submission_grade import grade_one
from harness.model import Outcome, Record, Status
from harness.workspace import Workspace

ABOUT = """[submission]
model = "somebody"
challenge = "fused_softmax_topk"
language = "cuda"
entry = ["answer.cu"]
provenance = "model-output"
"""
SOURCE = """#include <cassert>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void kernel(const float* logits, int vocab, int k, float* probs, int* indices) {
    KERNEL
}

extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
    if (k < 1 || k > vocab || k > 256) return 1;
    HOST
    kernel<<<rows, THREADS, 0, stream>>>(logits, vocab, k, probs, indices);
    return cudaGetLastError();
}
"""
BUILD = {
    "no CUDA at all": ("# Softmax\n\nFirst find the maximum.\n", "answer.cu"),
    "empty": ("", "fused_softmax_topk"),
    "another symbol": (SOURCE.replace("fused_softmax_topk", "softmax_topk"), "fused_softmax_topk"),
    "a C++ name": (SOURCE.replace('extern "C" ', ""), "fused_softmax_topk"),
    "a device function of the host": (SOURCE.replace("KERNEL", "probs[0] = rand();"), "rand"),
}
CALLS = {
    "never ends": {"KERNEL": "while (probs[0] != 7.0f) { ((volatile float*)probs)[0] = 1.0f; }"},
    "device assert": {"KERNEL": "assert(vocab < 0);"},
    "trap": {"KERNEL": "__trap();"},
    "2048 threads": {"THREADS": "2048"},
    "exhausted memory": {"HOST": "void* all; if (cudaMalloc(&all, size_t(1) << 45) != cudaSuccess) return 2;"},
    "host exits": {"HOST": "exit(0);"},
    "host crashes": {"HOST": "raise(SIGSEGV);"},
    "host aborts": {"HOST": "abort();"},
    "prints without end": {"KERNEL": 'for (int i = 0; i < 1 << 24; ++i) printf("%0100d", i);'},
    "writes far away": {"KERNEL": "probs[1ll << 40] = 0.0f;"},
    "recursion without end": {"KERNEL": "volatile char room[1 << 22]; for (int i = 0; i < 1 << 22; ++i) room[i] = 1;"},
}
FIRST = {"KERNEL": "", "HOST": "", "THREADS": "32"}


@pytest.fixture
def graded(tmp_path: Path) -> Callable[[str], Record]:
    def grade(source: str) -> Record:
        folder = tmp_path / "somebody" / "fused_softmax_topk"
        folder.mkdir(parents=True)
        (folder / "submission.toml").write_text(ABOUT)
        (folder / "answer.cu").write_text(source)
        limits = {"call_seconds": 1, "probes_seconds": 5}
        return grade_one(Workspace.find(), folder, Options(publish=False, limits=limits)).record

    return grade


def filled(parts: dict[str, str]) -> str:
    source = SOURCE
    for name, text in (FIRST | parts).items():
        source = source.replace(name, text)
    return source


@pytest.mark.parametrize("name", BUILD)
def test_what_does_not_build_says_why(graded: Callable[[str], Record], name: str) -> None:
    if name == "a device function of the host" and cuda_compiler() is None:
        pytest.skip("no CUDA compiler, which alone tells a function of the host from one of the device")
    source, words = BUILD[name]
    for part, text in FIRST.items():
        source = source.replace(part, text)
    record = graded(source)
    assert record.status is Status.BUILD_FAILED
    assert words in record.findings[0].detail
    assert record.dimensions["correctness"].score == 0
    assert record.overall.score is not None and record.overall.score <= 30


@pytest.mark.parametrize("name", CALLS)
def test_what_goes_wrong_in_a_call_is_a_failed_criterion(graded: Callable[[str], Record], name: str) -> None:
    record = graded(filled(CALLS[name]))
    assert record.status is Status.GRADED
    assert record.error is None
    evidence = {e.criterion: e for e in record.evidence}
    anchor = Workspace.find().challenge("fused_softmax_topk").anchor
    compiles = evidence["compiles"]
    if cuda_compiler():  # it does, and earns nothing for that alone
        assert (compiles.own_outcome, compiles.rests_on) == (Outcome.PASSED, anchor)
    else:
        assert compiles.outcome is Outcome.NOT_RUN
    assert evidence[anchor].outcome is Outcome.FAILED
    assert not [e for e in record.evidence if e.outcome is Outcome.JUDGE_ERROR]
    assert record.overall.score is not None and record.overall.score < 50
    # each of the 5 s of probing may wait as long again for its second try alone, one call of 1 s was under way, and on
    # a busy machine all of it takes some times as long
    assert record.seconds["box"] < 5 * 2 * (5 + 1)
