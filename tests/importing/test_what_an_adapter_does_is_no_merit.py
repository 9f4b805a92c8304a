"""A property that our adapter gives an answer is neither charged to the answer nor praised."""

from pathlib import Path

from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
CUT, APART = "Rows are cut to `lengths`", "for each layer and slot"


def excused(words: str) -> list[set[str]]:
    """Return the criteria that are not charged to each answer whose adapter is described with these words."""
    answers = WORKSPACE.collection("llm_programming_tests").answers
    return [{*answer.not_charged} for answer in answers if words in " ".join(answer.decides.split())]


def test_lengths_that_the_adapter_honours_are_no_merit_of_the_answer() -> None:
    found = excused(CUT)
    assert len(found) == 3
    assert all("ragged_lengths" in criteria for criteria in found)


def test_sequences_and_layers_that_the_adapter_keeps_apart_are_no_merit_of_the_answer() -> None:
    found = excused(APART)
    assert len(found) == 1
    assert all({"batch_isolation", "layer_isolation", "slots"} <= criteria for criteria in found)


def test_positions_that_the_adapter_passes_are_not_the_answer_s() -> None:
    answers = WORKSPACE.collection("llm_programming_tests").answers
    trees = [answer for answer in answers if answer.challenge == "tree_verification"]
    assert len(trees) == 5
    assert all("position_arguments" in answer.not_charged for answer in trees)
