"""Between turns a model is told what a user sees, titles and the compiler's words, and nothing of a probe's inputs."""

import json
import re
from typing import Any

import pytest
from asked_models import BROKEN, NAME, RIGHT, WRONG, Ask, attempts, folder, say

from harness.asking import feedback
from harness.grading.options import Options
from harness.grading.submission_grade import grade_one
from harness.model import Record
from harness.workspace import Workspace
from tests.review.judge_server import Behaviour, Request, serving
from tests.toy import REFERENCE, add_submission

TURNS = f"{NAME}-3-turns"
SECRET = "expected 0.12345, seed 424242"
TOLD = {"title", "criterion", "severity", "outcome", "dimension", "rests_on", "own_outcome", "established", "name"}
"""Fields of evidence that are told, or that hold names of the rubric."""


def replying(*texts: str) -> Behaviour:
    """A model that says one after the other, whatever it is told."""
    return lambda request: say(request, texts[request.number - 1])


def told(request: Request) -> str:
    """The last message of a chat."""
    return str(request.body["messages"][-1]["content"])


def graded(workspace: Workspace, source: str) -> Record:
    return grade_one(workspace, add_submission(workspace, "m", source), Options(publish=False)).record


def laced(value: Any, key: str = "") -> Any:
    """A record's JSON in which every free text says a secret but those that are told."""
    if isinstance(value, dict):
        return {name: laced(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [laced(item, key) for item in value]
    return SECRET if isinstance(value, str) and value and key not in TOLD else value


def test_a_wrong_answer_is_told_its_fault_and_asked_again(workspace: Workspace, ask: Ask) -> None:
    with serving(replying(WRONG, RIGHT)) as server:
        ran = ask(server.url, "--turns", "3")
    assert ran.returncode == 0, ran.stderr
    assert len(server.requests) == 2, "nothing is left to mend after the second"
    chat = server.requests[1].body["messages"]
    assert [message["role"] for message in chat] == ["user", "assistant", "user"]
    assert chat[1]["content"] == WRONG and "(critical)" in told(server.requests[1])
    (asked,) = attempts(workspace, TURNS).values()
    assert (asked.answered_by, asked.turns[0].feedback) == (2, told(server.requests[1]))
    made = folder(workspace, TURNS) / "attempt-1"
    assert workspace.submission(made).about.turns == 3 and (made / "reply.md").read_text() == RIGHT
    assert not workspace.record_path(TURNS, "scaled_sum").exists(), "grades between turns are not published"


def test_nothing_of_an_input_is_told(workspace: Workspace) -> None:
    record = graded(workspace, REFERENCE.replace("total * scale", "total"))
    (failed,) = [item for item in record.evidence if item.counterexample]
    text = feedback.on_grade(record) or ""
    assert failed.title in text and failed.detail not in text
    assert not re.search(r"\d", text.replace(failed.title, "")), "no figure: no size, no seed, no value"


def test_only_titles_of_evidence_reach_the_model(workspace: Workspace) -> None:
    record = graded(workspace, REFERENCE.replace("total * scale", "total"))
    evidence = laced(json.loads(record.to_json())["evidence"])
    changed = Record.model_validate({**record.model_dump(), "evidence": evidence})
    assert SECRET in changed.to_json()
    assert feedback.on_grade(changed) == feedback.on_grade(record)


def test_what_does_not_build_is_told_in_the_words_of_its_compiler(workspace: Workspace, ask: Ask) -> None:
    with serving(replying(BROKEN, RIGHT)) as server:
        assert ask(server.url, "--turns", "2").returncode == 0
    assert "does not build" in told(server.requests[1]) and "SyntaxError" in told(server.requests[1])


def test_a_reply_without_an_answer_is_told_and_the_last_answer_counts(workspace: Workspace, ask: Ask) -> None:
    with serving(replying("Only words.", WRONG, "I give up.")) as server:
        assert ask(server.url, "--turns", "3").returncode == 0
    assert "No answer could be taken from your reply" in told(server.requests[1])
    (asked,) = attempts(workspace, TURNS).values()
    assert (len(asked.turns), asked.answered_by, asked.unanswered) == (3, 2, None)
    assert (folder(workspace, TURNS) / "attempt-1" / "reply.md").read_text() == WRONG


def test_turns_that_came_are_not_asked_for_again(workspace: Workspace, ask: Ask) -> None:
    def behave(request: Request) -> None:
        if request.number == 2:
            request.send(b'{"error": {"message": "no credit"}}', 402)
        else:
            say(request, WRONG if request.number == 1 else RIGHT)

    with serving(behave) as server:
        assert ask(server.url, "--turns", "3").returncode == 3
        assert not folder(workspace, TURNS).exists()
        assert ask(server.url, "--turns", "3").returncode == 0
    assert server.requests[2].body == server.requests[1].body and len(server.requests) == 3
    assert attempts(workspace, TURNS)[1].answered_by == 2
    assert not list((workspace.cache_folder / "asking").rglob("*.json")), "nothing unfinished is left"


@pytest.mark.parametrize("status", [400, 413])
def test_a_chat_that_grew_too_long_ends_with_what_came(workspace: Workspace, ask: Ask, status: int) -> None:
    def behave(request: Request) -> None:
        if request.number == 2:
            request.send(b'{"error": {"message": "context length exceeded"}}', status)
        else:
            say(request, WRONG)

    with serving(behave) as server:
        assert ask(server.url, "--turns", "3").returncode == 0
    (asked,) = attempts(workspace, TURNS).values()
    assert (len(asked.turns), asked.answered_by) == (1, 1)


def test_long_words_of_a_compiler_are_cut_and_cannot_end_their_block(workspace: Workspace) -> None:
    record = graded(workspace, "raise ValueError('```' + 'x' * 50_000)\n")
    text = feedback.on_grade(record) or ""
    assert len(text) < feedback.MOST_WORDS + 500 and text.count("````") == 2
