"""What an answer is judged by, its prompt asks for, in words that the rubric names."""

import pytest

from tests.checkout import WORKSPACE


@pytest.mark.parametrize("id", sorted(WORKSPACE.challenges()))
def test_every_criterion_quotes_the_words_of_the_prompt_that_ask_for_it(id):
    prompt = " ".join((WORKSPACE.challenge_folder(id) / "PROMPT.md").read_text("utf-8").split())
    quotes = {c.id: " ".join(c.asked.split()) if c.asked else "" for c in WORKSPACE.challenge(id).criteria}
    assert [c for c, words in quotes.items() if not words or words not in prompt] == []
