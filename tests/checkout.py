"""This checkout as a workspace, the code of its challenges, and answers to them in this process."""

from functools import cache
from pathlib import Path

from harness.model import Evidence
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.challenge_code.mutants import module_of
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[1])


@cache
def code_of(challenge: str) -> ChallengeCode:
    return ChallengeCode(WORKSPACE, WORKSPACE.challenge(challenge))


def answer_of(source: str) -> LocalAnswer:
    """Run source text as an answer in this process."""
    return LocalAnswer(module_of("answer", source))


def mutated(code: ChallengeCode, name: str) -> str:
    """Return the source of the mutant of that name."""
    return code.source(next(mutant for mutant in code.mutants if mutant.name == name))


def probed(code: ChallengeCode, answer: LocalAnswer, *criteria: str, seed: int = 11) -> list[Evidence]:
    """Judge an answer by some criteria, without looking for the faults that explain what is seen."""
    asked = [code.challenge.criterion(id) for id in criteria]
    return [probe_criterion(code, c, answer, seed_of(seed, c.id), explain=False) for c in asked]
