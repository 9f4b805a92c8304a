"""Prompts ask for what is judged, and a fresh submission in CUDA builds as it is."""

import pytest

from harness.cuda.compilers.host_compiler import host_compiler
from harness.cuda.emulator.build import build
from harness.sandbox import detect
from tests.checkout import WORKSPACE


@pytest.mark.parametrize("id", sorted(WORKSPACE.challenges()))
def test_every_criterion_quotes_the_words_of_the_prompt_that_ask_for_it(id):
    prompt = " ".join((WORKSPACE.challenge_folder(id) / "PROMPT.md").read_text("utf-8").split())
    quotes = {c.id: " ".join(c.asked.split()) if c.asked else "" for c in WORKSPACE.challenge(id).criteria}
    assert [c for c, words in quotes.items() if not words or words not in prompt] == []


IN_CUDA = [id for id in WORKSPACE.challenges() if WORKSPACE.challenge(id).language == "cuda"]


@pytest.mark.skipif(host_compiler() is None, reason="no C++ compiler here")
@pytest.mark.parametrize("challenge", IN_CUDA)
def test_the_stub_builds(challenge, tmp_path):
    folder = WORKSPACE.challenge_folder(challenge)
    built = build(folder, ["contract.cu"], tmp_path, tier=detect(), instrumented=False)
    assert built.path is not None, built.errors
