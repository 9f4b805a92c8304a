"""The corpus notices an attack that gets through: what is read, left, reached, forged, or held up."""

import os
import signal
from dataclasses import replace

import pytest

from harness.model import SignalKind
from tests.attacks import corpus
from tests.attacks.attack import Attack, Expect
from tests.attacks.judge import Verdict
from tests.attacks.nursery import REPOSITORY, Nursery
from tests.attacks.wrapping import HONEST, LAYER_NORM

HONEST_ANSWER = Attack("honest", "test", LAYER_NORM, {"answer.py": HONEST[LAYER_NORM]}, expect=Expect.HONEST)


def planted(code: str, expect: Expect = Expect.HELD) -> Attack:
    """An honest answer that does something when it is loaded."""
    return replace(HONEST_ANSWER, files={"answer.py": code + HONEST[LAYER_NORM]}, expect=expect)


def test_the_corpus_has_the_size_that_is_claimed() -> None:
    everything = corpus.attacks().values()
    twins = [attack for attack in everything if attack.expect is Expect.HONEST]
    assert len(everything) - len(twins) >= 150
    assert len(twins) >= 40
    asked = {"layernorm_backward", "kv_cache", "fused_softmax_topk", "beam_search", "tree_verification"}
    assert asked <= {attack.challenge for attack in everything}


@pytest.mark.parametrize("tier", ["A", "B", "C"])
def test_the_page_on_security_counts_the_corpus(tier: str) -> None:
    says = corpus.stated((REPOSITORY / "docs" / "security.md").read_text(encoding="utf-8"), tier)
    everything = [Verdict(a.name, a.kind, a.challenge, a.expect is Expect.HONEST) for a in corpus.attacks().values()]
    assert {kind: count for kind, count in says.items() if not kind.startswith("seconds")} == corpus.counted(everything)


def test_a_page_that_claims_too_much_is_noticed() -> None:
    page = (REPOSITORY / "docs" / "security.md").read_text(encoding="utf-8")
    escaped = Verdict("it", "replay", "kv_cache", wrong=["got away"])
    assert corpus.counted([escaped])["replay"] == "0 of 1"
    assert corpus.stated(page, "A")["replay"] != "0 of 1"
    assert corpus.stated(page.replace("| 29 of 29 | 29", "| 28 of 29 | 29"), "A")["replay"] == "28 of 29"


def test_an_honest_answer_is_not_suspected() -> None:
    assert corpus.verdict_on(HONEST_ANSWER).wrong == []


def test_credit_for_honest_work_counts_as_an_escape_of_an_attack() -> None:
    assert corpus.verdict_on(replace(HONEST_ANSWER, expect=Expect.NO_CREDIT)).wrong == ["`gradients` came out passed"]


def test_an_attack_that_was_to_be_refused_and_is_graded_is_noticed() -> None:
    assert corpus.verdict_on(replace(HONEST_ANSWER, expect=Expect.REFUSED)).wrong


def test_an_honest_answer_that_fails_is_a_false_alarm() -> None:
    assert corpus.verdict_on(replace(HONEST_ANSWER, files={"answer.py": "def forward(): pass\n"})).wrong


def test_what_an_attack_says_that_it_got_is_noticed() -> None:
    assert corpus.verdict_on(planted("from loot import got\ngot('away')\n")).wrong == ["got away"]


def test_a_signal_that_is_due_and_not_raised_is_noticed() -> None:
    quiet = replace(HONEST_ANSWER, expect=Expect.HELD, signals=frozenset({SignalKind.SYSTEM_CALL}))
    assert corpus.verdict_on(quiet).wrong == ["no signal SYSTEM_CALL"]


def test_a_grader_that_is_held_up_is_ended_and_counts_as_an_escape() -> None:
    with Nursery(deadline=0.01) as nursery:
        assert nursery.verdict_on(HONEST_ANSWER).wrong == ["the grader was held up for 0.04 s"]
        assert nursery.alive


def test_a_nursery_that_was_ended_counts_as_an_escape() -> None:
    with Nursery() as nursery:
        os.kill(nursery.pid, signal.SIGKILL)
        assert nursery.verdict_on(HONEST_ANSWER).wrong == ["it ended what makes the graders"]
