"""What `harness new submission` gives for a challenge in CUDA builds for the emulated device as it is."""

import pytest
from softmax_topk_answers import WORKSPACE

from harness.cuda.compilers.host_compiler import host_compiler
from harness.cuda.emulator.build import build
from harness.sandbox import detect

IN_CUDA = [id for id in WORKSPACE.challenges() if WORKSPACE.challenge(id).language == "cuda"]


@pytest.mark.skipif(host_compiler() is None, reason="no C++ compiler here")
@pytest.mark.parametrize("challenge", IN_CUDA)
def test_the_stub_builds(challenge, tmp_path):
    folder = WORKSPACE.challenge_folder(challenge)
    built = build(folder, ["contract.cu"], tmp_path, tier=detect(), instrumented=False)
    assert built.path is not None, built.errors
