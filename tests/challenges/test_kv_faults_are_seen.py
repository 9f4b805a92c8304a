"""What a cache costs and whether it has pages is measured where other faults and other designs leave it open."""

import pytest

from harness.model import Outcome
from harness.mutation.checks.check import assess, open_in_sandbox
from harness.probing import Answer, CallTimedOut, Draw
from harness.probing.probe import run
from tests import shares
from tests.checkout import code_of, mutated

CODE = code_of("kv_cache")
SEED = shares.number()
COPIES = """
def create_cache(**sizes):
    return sizes

def prefill(cache, layer, slots, q, k, v, lengths):
    return v.copy()

def decode(cache, layer, slots, q, k, v):
    return v.copy()

def release(cache, slot):
    pass
"""


def test_a_copy_of_the_values_earns_nothing() -> None:
    """It is right for every first token, so it must fail the anchor by what it makes of a longer prompt."""
    with open_in_sandbox(CODE, COPIES) as answer:
        evidence = assess(CODE, answer, SEED)
    assert [e.criterion for e in evidence if e.satisfied] == []


def test_bytes_that_do_not_change_with_the_slots_are_said_to_be_the_same() -> None:
    with open_in_sandbox(CODE, mutated(CODE, "bytes of two slots")) as answer:
        (report,) = assess(CODE, answer, SEED, "memory_report")
    assert report.detail.endswith("with 1 and with 2 slots filled it says the same")


def test_codes_that_decodes_never_reach_are_seen_in_the_bytes_of_decodes() -> None:
    with open_in_sandbox(CODE, mutated(CODE, "int8 of prompts alone")) as answer:
        found = run(CODE.probes["int8_takes_fewer_bytes"], answer, SEED, shrink=False)
    assert found.title == "int8 takes no fewer bytes for tokens of decodes"


def before_each_prefill(statement: str) -> str:
    """The reference, in which each prefill begins with `statement`."""
    head = "def prefill(cache, layer, slots, q, k, v, lengths):\n"
    rest = "    return whole(cache, layer, slots, q, k, v, lengths)\n"
    return f"{CODE.source()}\n\nKEPT = []\nwhole = prefill\n\n\n{head}    {statement}\n{rest}"


def test_the_memory_of_one_layer_is_measured_where_a_second_one_fails() -> None:
    """A fault of layers is another criterion's."""
    with open_in_sandbox(CODE, before_each_prefill("assert not layer")) as answer:
        (memory,) = assess(CODE, answer, SEED, "memory_growth")
    assert (memory.outcome, list(memory.measured)) == (Outcome.PASSED, ["memory_overhead"])


@pytest.mark.parametrize(("copies", "outcome"), [(0, Outcome.PASSED), (7, Outcome.FAILED)])
def test_the_memory_of_a_slow_answer_is_measured_at_a_smaller_shape(
    monkeypatch: pytest.MonkeyPatch, copies: int, outcome: Outcome
) -> None:
    """Eight times the bytes, as lists of Python numbers take, fail there, and the reference's do not."""
    measure = CODE.probes["memory_grows_with_the_tokens"].body.__globals__
    slopes = measure["slopes"]

    def late(answer: Answer, draw: Draw, shape: object, length: int, **how: bool) -> tuple[float, float]:
        if shape is measure["WIDE"]:
            raise CallTimedOut("`prefill` does not end in time")
        return slopes(answer, draw, shape, length, **how)

    monkeypatch.setitem(measure, "slopes", late)
    keeping = f"KEPT.extend(np.array([k, v]) for _ in range({copies}))"
    with open_in_sandbox(CODE, before_each_prefill(keeping)) as answer:
        (memory,) = assess(CODE, answer, SEED, "memory_growth")
    assert memory.outcome is outcome


TAKE_PAGE = "                table.append(self.take_page())\n"
GIVE_BACK = "        self.free.extend(self.tables[slot])\n"
STORES = "    cache.stores = [Store(max_batch, page_size, blank) for _ in range(num_layers)]\n"
PLACE = "            index, offset = divmod(self.lengths[slot], self.page_size)\n"
ROOM = "            n = min(self.page_size - offset, len(rows[0]) - done)\n"
GROWN = """\
            table[0] = [np.concatenate([old[: self.lengths[slot]], new]) for old, new in zip(table[0], rows)]
            self.lengths[slot] += len(rows[0])
            return
"""
WITHOUT_PAGES = {
    "one array a slot that grows": (
        (PLACE, "            index = len(table) - 1 if table else 0\n"), (ROOM, GROWN), (GIVE_BACK, ""),
        (TAKE_PAGE, "                table.append([part.copy() for part in self.blank])\n"),
    ),
    "one array a slot, made and given back": (
        (STORES, f"{STORES}    for store in cache.stores:\n        store.page_size = max_length\n"), (GIVE_BACK, ""),
    ),
    "one array for all, written at once": (
        (TAKE_PAGE, "                table.append([part[slot] for part in self.whole])\n"),
        (
            STORES, f"{STORES}    for store in cache.stores:\n        store.page_size = max_length\n"
            "        store.whole = [np.ones((max_batch, max_length, *p.shape[1:]), p.dtype) for p in blank]\n",
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("design", WITHOUT_PAGES)
def test_what_page_size_changes_nothing_of_is_not_taken_for_pages(design: str) -> None:
    """It is right, and gives back what is released: whether there are pages cannot be told, and earns nothing."""
    source = CODE.source()
    for old, new in WITHOUT_PAGES[design]:
        assert source.count(old) == 1
        source = source.replace(old, new)
    with open_in_sandbox(CODE, source) as answer:
        (evidence,) = assess(CODE, answer, SEED, "paged", 0.2)
    assert evidence.outcome is Outcome.NOT_RUN and "page_size" in evidence.detail, evidence
