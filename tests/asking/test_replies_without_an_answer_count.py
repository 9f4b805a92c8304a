"""A reply that holds no answer is an attempt all the same: kept with its reason, and not asked for again."""

import json

import pytest
from asked_models import NAME, RIGHT, Ask, attempts, folder, say

from harness.workspace import Workspace
from tests.commands import called
from tests.review.judge_server import Behaviour, serving


@pytest.mark.parametrize(
    ("behave", "words"),
    [
        (lambda r: say(r, RIGHT[:60], finish="length"), "was cut off at the limit of tokens (500)"),
        (lambda r: say(r, ""), "is empty"),
        (lambda r: say(r, None, refusal="I will not."), "is a refusal: I will not."),
        (lambda r: say(r, "Only words."), ""),
        (lambda r: say(r, RIGHT.replace("total *", "\0")), "is not text"),
        (lambda r: say(r, "x" * (3 << 20)), "larger than 2 MiB"),
        (lambda r: say(r, f"{RIGHT}\n```asked.json\n{{}}\n```\n"), "is kept for the harness"),
        (lambda r: say(r, f"{RIGHT}\n```submission.toml/x.py\nx = 1\n```\n"), "is kept for the harness"),
        (lambda r: say(r, f'{RIGHT}\n``` file="{chr(0x1F600) * 100}.py"\nx = 1\n```\n'), "longer than 200 bytes"),
        (lambda r: say(r, f'{RIGHT}\n``` file="{"x" * 256}.py"\nx = 1\n```\n'), "longer than 200 bytes"),
    ],
    ids=[
        "cut off",
        "empty",
        "refusal",
        "words",
        "no text",
        "3 MiB",
        "names what is ours",
        "as a folder",
        "400 bytes",
        "256 letters",
    ],
)
def test_it_is_kept_with_its_reason(workspace: Workspace, ask: Ask, behave: Behaviour, words: str) -> None:
    with serving(behave) as server:
        ran = ask(server.url)
        assert ran.returncode == 0, ran.stderr
        assert "meets no criterion" in ran.stderr and words in ran.stderr
        assert ask(server.url).returncode == 0
    assert len(server.requests) == 1
    made = folder(workspace) / "attempt-1"
    assert {p.name for p in made.iterdir()} == {"asked.json", "reply.md", "submission.toml"}
    (asked,) = attempts(workspace).values()
    about = workspace.submission(made).about
    assert asked.unanswered and asked.unanswered == about.unanswered and words in asked.unanswered


def test_it_is_graded_and_meets_nothing(workspace: Workspace, ask: Ask) -> None:
    with serving(lambda request: say(request, "Only words.")) as server:
        assert ask(server.url).returncode == 0
    done = called(workspace.root, "grade", str(folder(workspace) / "attempt-1"), "--json")
    (record,) = json.loads(done.stdout)
    assert (record["model"], record["overall"]["score"], record["status"]) == (NAME, 0, "build_failed")


def test_a_cut_off_reply_whose_files_are_whole_is_an_answer(workspace: Workspace, ask: Ask) -> None:
    with serving(lambda request: say(request, f"{RIGHT}\nThis works beca", finish="length")) as server:
        assert ask(server.url).returncode == 0
    (asked,) = attempts(workspace).values()
    assert asked.answered_by == 1 and asked.turns[0].finish == "length"


TWO = f"One way:\n\n{RIGHT}\nAnother:\n\n{RIGHT.replace('total', 'sum_')}"


def test_a_reply_that_may_be_meant_in_two_ways_is_kept_and_not_graded(workspace: Workspace, ask: Ask) -> None:
    with serving(lambda request: say(request, TWO)) as server:
        ran = ask(server.url)
        assert ran.returncode == 0 and "could not be read" in ran.stderr and "--take" in ran.stderr
        assert ask(server.url).returncode == 0
    assert len(server.requests) == 1
    made = folder(workspace) / "attempt-1"
    (asked,) = attempts(workspace).values()
    about = workspace.submission(made).about
    assert asked.unread and asked.unread == about.unread
    assert (asked.unanswered, asked.answered_by, about.unanswered, about.entry) == (None, None, None, ())
    done = called(workspace.root, "grade", str(made), "--json")
    (record,) = json.loads(done.stdout)
    assert (record["status"], record["unread"], record["reward"]) == ("judge_error", True, None)


def test_no_earlier_turn_stands_for_a_last_one_that_could_not_be_read(workspace: Workspace, ask: Ask) -> None:
    replies = iter([RIGHT.replace("total * scale", "total"), TWO])
    with serving(lambda request: say(request, next(replies))) as server:
        assert ask(server.url, "--turns", "2").returncode == 0
    (asked,) = attempts(workspace, f"{NAME}-2-turns").values()
    assert len(asked.turns) == 2 and asked.unread and asked.answered_by is None
