"""What is special is charged where it alone fails, in words and figures that are true of the answer."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.probing import Mutant
from harness.probing.code import ChallengeCode
from harness.probing.local_answer import LocalAnswer
from harness.probing.probe import ProbeResult, run
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
CODE = ChallengeCode(WORKSPACE, WORKSPACE.challenge("layernorm_backward"))
DX = "    dx = rstd * (dxhat - mean_term - xhat * projection)\n"
UNDIVIDED, PASSED_ON = "rstd * (dxhat - mean_term) - xhat * projection", "dxhat"
"""What strangers gave for dx: one lacks a division by the deviation, the other hands the gradient on."""


class Noted(LocalAnswer):
    """Keep every number of a gradient of x that was returned."""

    def __init__(self, fault: Mutant) -> None:
        super().__init__(CODE.imported(fault))
        self.returned = set[float]()

    def call(self, function: str, *args: Any, **options: Any) -> Any:
        reply = super().call(function, *args, **options)
        if function == "backward":
            self.returned |= set(np.asarray(reply[0], float).ravel().tolist())
        return reply


def noted(dx: str) -> Noted:
    return Noted(Mutant("as strangers", "gives another dx", criterion="gradients", edits=((DX, f"    dx = {dx}\n"),)))


def seen(answer: LocalAnswer, probe: str) -> ProbeResult:
    return run(CODE.probes[probe], answer, 7, shrink=False)


@pytest.mark.parametrize("probe", ["x_and_eps_scale_together", "extreme_scales_lose_nothing"])
@pytest.mark.parametrize("dx", [UNDIVIDED, PASSED_ON])
def test_a_law_of_scale_shows_what_the_answer_returned(dx: str, probe: str) -> None:
    answer = noted(dx)
    found = seen(answer, probe).counterexample
    assert found is not None and found.where.startswith("dx") and found.got in answer.returned
