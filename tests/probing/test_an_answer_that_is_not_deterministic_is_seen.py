"""An answer that says different things to the same question is seen, and one that does not is left in peace."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.model import SignalKind
from harness.mutation.checks.check import open_in_sandbox
from harness.probing.answers import SandboxedAnswer
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.evidence.determinism import nondeterminism

DETERMINISTIC = "import numpy as np\ndef scaled(x, scale): return x.sum(axis=-1) * scale\n"
NONDETERMINISTIC = {
    "by chance": "import numpy as np\ndef scaled(x, scale): return x.sum(axis=-1) * scale + np.random.rand() * 1e-14\n",
    "by the clock": "import time\ndef scaled(x, scale): return x.sum(-1) * scale + time.perf_counter() % 1 * 1e-10\n",
    "by an error": (
        "import os\ndef scaled(x, scale):\n"
        "    if os.urandom(1)[0] % 2: raise RuntimeError\n    return x.sum(axis=-1) * scale\n"
    ),
}


@contextmanager
def probed(toy: ChallengeCode, source: str, tries: int) -> Iterator[list[object]]:
    with open_in_sandbox(toy, source) as answer:
        assert isinstance(answer, SandboxedAnswer)
        probe = toy.probes["rows_match_the_oracle"]
        yield [nondeterminism(answer, probe, seed) for seed in range(tries)]


def test_a_deterministic_answer_is_left_in_peace(toy):
    with probed(toy, DETERMINISTIC, 5) as signals:
        assert signals == [None] * 5


def test_a_wrong_but_deterministic_answer_is_left_in_peace(toy):
    with probed(toy, "def scaled(x, scale): raise RuntimeError('always')\n", 3) as signals:
        assert signals == [None] * 3


@pytest.mark.parametrize("source", NONDETERMINISTIC.values(), ids=NONDETERMINISTIC)
def test_a_nondeterministic_answer_is_seen(toy, source):
    # an error by the toss of a coin stays unseen in one try with probability 1/2: in sixteen with 2^-16
    with probed(toy, source, 16) as signals:
        assert any(s is not None and s.kind is SignalKind.NONDETERMINISTIC for s in signals)
