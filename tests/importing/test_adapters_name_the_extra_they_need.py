"""Adapters name the extra they need, and what they do is no merit."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from harness.grading.collected_submission import excuse_criteria
from harness.model import Evidence, Outcome
from tests.checkout import WORKSPACE

CHECKOUT = Path(__file__).parents[2]
NEEDED = re.compile(r"(?m)^    import (\w+)")
"""A package that is imported in a block of its own: one that may not be there."""
ADAPTERS = [
    WORKSPACE.collection_folder(id) / answer.name / answer.adapter
    for id in WORKSPACE.collections()
    for answer in WORKSPACE.collection(id).answers
    if answer.adapter.endswith(".py")
]
NEEDING = [path for path in ADAPTERS if NEEDED.search(path.read_text())]


def test_some_adapters_need_a_package() -> None:
    assert {path.parent.name for path in NEEDING} == {"ternary_training"} and len(NEEDING) == 5


@pytest.mark.parametrize("adapter", NEEDING, ids=lambda path: path.parent.parent.name)
def test_without_the_package_the_extra_is_named_before_the_answer_is_loaded(adapter: Path) -> None:
    found = NEEDED.search(adapter.read_text())
    assert found
    hidden = f"import runpy, sys; sys.modules[{found[1]!r}] = None; runpy.run_path({str(adapter)!r})"
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True)
    *_, said = done.stderr.splitlines()
    extra = re.search(r"pip install 'kernel-harness\[(\w+)\]'$", said)
    assert done.returncode and said.startswith("ImportError: ") and extra, said
    brought = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["optional-dependencies"][extra[1]]
    assert any(re.match(rf"{found[1]}\b", requirement) for requirement in brought)


CUT, APART = "Rows are cut to `lengths`", "for each layer and slot"


def excused(words: str) -> list[set[str]]:
    """Return the criteria that are not charged to each answer whose adapter is described with these words."""
    answers = WORKSPACE.collection("llm_programming_tests").answers
    return [{*answer.not_charged} for answer in answers if words in " ".join(answer.decides.split())]


def test_lengths_that_the_adapter_honours_are_no_merit_of_the_answer() -> None:
    found = excused(CUT)
    assert len(found) == 3
    assert all({"ragged_lengths", "any_padding"} <= criteria for criteria in found)


def test_sequences_and_layers_that_the_adapter_keeps_apart_are_no_merit_of_the_answer() -> None:
    found = excused(APART)
    assert len(found) == 1
    assert all({"batch_isolation", "layer_isolation", "slots"} <= criteria for criteria in found)


def test_positions_that_the_adapter_passes_are_not_the_answer_s() -> None:
    answers = WORKSPACE.collection("llm_programming_tests").answers
    trees = [answer for answer in answers if answer.challenge == "tree_verification"]
    assert len(trees) == 5
    assert all("position_arguments" in answer.not_charged for answer in trees)


def test_refusals_and_scales_that_are_the_adapter_s_are_not_the_answer_s() -> None:
    refusing, reading = excused("the adapter refuses every k without"), excused("the largest magnitude of a group is s")
    assert len(refusing) == 3 and all("refusal" in criteria for criteria in refusing)
    assert len(reading) == 3 and all("zero_groups" in criteria for criteria in reading)


def test_chunks_that_the_adapter_puts_together_are_neither_praised_nor_charged() -> None:
    found = excused("Later chunks go through")
    assert len(found) == 1
    assert all("appended_prefill" in criteria for criteria in found)


def test_a_reason_not_to_charge_stands_in_place_of_whatever_a_probe_says() -> None:
    collection = WORKSPACE.collection("llm_programming_tests")
    answer = next(a for a in collection.answers if a.challenge == "kv_cache" and "argument_errors" in a.not_charged)
    criterion = WORKSPACE.challenge("kv_cache").criterion("argument_errors")
    refused = Evidence.of(criterion, Outcome.NOT_RUN, seed=1, detail="our adapter refuses what is asked of `prefill`")
    (shown,) = excuse_criteria([refused], collection.origin(answer))
    assert shown.detail == f"not charged to the answer: {answer.not_charged['argument_errors']}"
