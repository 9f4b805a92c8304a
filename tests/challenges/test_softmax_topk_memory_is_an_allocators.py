"""Memory of the emulated device is as an allocator hands it out: at the addresses of the call before, and not empty."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from softmax_topk_answers import CODE

from harness.mutation.checks.check import open_in_sandbox
from harness.probing.answers import Answer
from harness.probing.draw import Draw

SHOWS = r"""
#include <cuda_runtime.h>

__global__ void show(const unsigned* unwritten, unsigned* probs, int* indices, int3 places) {
    __shared__ unsigned shared[1024];
    for (int i = 0; i < 128; ++i) {
        probs[i] = unwritten[i];
        probs[128 + i] = shared[i];
    }
    for (int i = 0; i < 128; ++i) shared[i] = 7;
    indices[0] = places.x;
    indices[1] = places.y;
    indices[2] = places.z;
}
__global__ void write(unsigned* scratch) { for (int i = 0; i < 128; ++i) scratch[i] = 5; }

static int place(const void* pointer) { return static_cast<int>(reinterpret_cast<unsigned long long>(pointer) >> 2); }

extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
    unsigned* scratch = nullptr;
    cudaMalloc(&scratch, 4096);
    const int3 places = {place(logits), place(probs), place(indices)};
    show<<<1, 1, 0, stream>>>(scratch, reinterpret_cast<unsigned*>(probs), indices, places);
    write<<<1, 1, 0, stream>>>(scratch);
    cudaFree(scratch);
    return cudaGetLastError();
}
"""
LOGITS = np.zeros((1, 300), np.float32)
SEVERAL = {0xFFFFFFFF, 0x7F7F7F7F, 0, 0xFF800000}
"""NaN, a large number, zero and minus infinity."""
Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Seen:
    """What one call met: the words of its scratch and of its shared memory, and where its buffers lay."""

    scratch: Words
    shared: Words
    places: tuple[int, ...]


@pytest.fixture(scope="module")
def built() -> Iterator[Answer]:
    with open_in_sandbox(CODE, SHOWS) as answer:
        yield answer


@pytest.fixture
def shown(built: Answer) -> Answer:
    built.fresh()
    return built


def seen(answer: Answer, draw: Draw, logits: NDArray[np.float32] = LOGITS, **options) -> Seen:
    back = CODE.module("binding").call(answer, draw, logits, 256, **options)
    words = back["probs"][0].view(np.uint32)
    return Seen(words[:128], words[128:], tuple(map(int, back["indices"][0, :3])))


def test_unwritten_memory_holds_several_values_in_an_order_that_the_seed_decides(shown: Answer) -> None:
    first, again = (Draw(3, "same") for _ in range(2))
    one, other = seen(shown, first), seen(shown, first)
    for words in (one.scratch, one.shared, other.scratch, other.shared):
        assert set(map(int, words)) == SEVERAL
    assert (one.scratch != other.scratch).any()
    repeated = seen(shown, again)
    assert (repeated.scratch == one.scratch).all() and (repeated.shared == one.shared).all()


def test_what_was_drawn_before_changes_nothing_of_it(shown: Answer) -> None:
    first, further = Draw(3, "same"), Draw(3, "same")
    further.normal(1000)
    assert (seen(shown, first).scratch == seen(shown, further).scratch).all()


def test_memory_left_holds_what_the_call_before_wrote(shown: Answer) -> None:
    draw = Draw(3, "left")
    seen(shown, draw)
    left = seen(shown, draw, fill="left")
    assert set(map(int, left.scratch)) == {5}
    assert set(map(int, left.shared)) == {7}


def test_calls_of_equal_size_come_at_equal_addresses_and_others_at_others(shown: Answer) -> None:
    draw = Draw(3, "places")
    one = seen(shown, draw).places
    seen(shown, draw, np.zeros((1, 5000), np.float32))
    assert seen(shown, draw, LOGITS + 1).places == one
    logits, probs, indices = seen(shown, draw, moved=("probs", "indices")).places
    assert logits == one[0] and probs != one[1] and indices != one[2]
    logits, probs, indices = seen(shown, draw, moved=("logits",)).places
    assert logits != one[0] and (probs, indices) == one[1:]
