"""Grades share a GPU while they call their answers, have it alone while they time them, and build nothing meanwhile.

The GPU is played by host memory; compilers, sandboxes, the driver and the locks are those of a grade.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from harness.cuda.compilers.host_compiler import host_compiler
from harness.cuda.compilers.nvcc import nvcc
from harness.timing.exclusive import FOLDER
from harness.timing.timeline import FILE

HERE = Path(__file__).parent
REFERENCE = HERE.parents[1] / "references" / "fused_softmax_topk"

pytestmark = [
    pytest.mark.skipif(nvcc() is None, reason="no nvcc to build for the GPU: `make compilers` brings one"),
    pytest.mark.skipif(host_compiler() is None, reason="no C++ compiler"),
]

Span = dict[str, Any]


@pytest.fixture(scope="module")
def timelines(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Span], list[Span]]:
    """What two answers were seen doing that were called and timed at once."""
    folder = tmp_path_factory.mktemp("timeline")
    ready = [folder / "one", folder / "other"]
    processes = []
    for here, there in (ready, ready[::-1]):
        told = os.environ | {FILE: f"{here}.jsonl", FOLDER: str(folder), "PYTHONPATH": str(HERE.parents[1])}
        words = [sys.executable, str(HERE / "host_gpu.py"), "--turns", str(REFERENCE), str(here), str(there)]
        processes.append(subprocess.Popen(words, env=told, stderr=subprocess.PIPE, text=True))
    try:
        for process in processes:
            _, words_of_failure = process.communicate(timeout=300)
            assert process.returncode == 0, words_of_failure
    finally:
        for process in processes:
            process.kill()
    one, other = ([json.loads(line) for line in Path(f"{here}.jsonl").read_text().splitlines()] for here in ready)
    return one, other


def overlapping(ones: list[Span], others: list[Span]) -> Iterator[tuple[Span, Span]]:
    for one, other in product(ones, others):
        if one is not other and one["start"] < other["end"] and other["start"] < one["end"]:
            yield one, other


def of(spans: list[Span], *stages: str) -> list[Span]:
    found = [span for span in spans if span["stage"] in stages]
    assert found, stages
    return found


def test_calls_of_two_answers_overlap_on_the_gpu(timelines: tuple[list[Span], list[Span]]) -> None:
    one, other = timelines
    assert any(overlapping(of(one, "gpu"), of(other, "gpu")))


def test_nothing_of_another_answer_runs_on_the_gpu_while_one_is_timed(
    timelines: tuple[list[Span], list[Span]],
) -> None:
    one, other = timelines
    assert not list(overlapping(of(one, "gpu_timed"), of(other, "gpu", "gpu_timed")))
    assert not list(overlapping(of(other, "gpu_timed"), of(one, "gpu", "gpu_timed")))


def test_no_answer_is_compiled_while_it_has_the_gpu_alone(timelines: tuple[list[Span], list[Span]]) -> None:
    for spans in timelines:
        assert not list(overlapping(of(spans, "compile"), of(spans, "gpu_timed")))


def test_the_build_for_the_gpu_runs_beside_those_for_the_emulated_device(
    timelines: tuple[list[Span], list[Span]],
) -> None:
    for spans in timelines:
        threads = {span["thread"] for pair in overlapping(*[of(spans, "compile")] * 2) for span in pair}
        assert len(threads) >= 3  # the GPU's, the plain and the watched build
