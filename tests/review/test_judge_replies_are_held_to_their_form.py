"""A reply with a false quote, a question missing or a mark out of range is refused, asked again, and never stored."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from judge_server import QUESTIONS, Command, Ran, Request, serving, submit
from pydantic import ValidationError

from harness.review import read_reviews
from harness.review.judge import TRIES
from harness.review.judge_reply import MarksReply, PairReply, Refused, parse
from harness.workspace import Workspace


def review(command: Command, url: str, *more: str) -> Ran:
    return command("review", "acme-7b/rows", "--judge", url, "--model", "m", "--name", "mine", *more)


def answers(**changes: Any) -> list[dict[str, Any]]:
    marked: list[dict[str, Any]] = [{"question": q, "remark": "So.", "quotes": [], "mark": 50} for q in QUESTIONS]
    return [marked[0] | changes, marked[1]]


def reply(**changes: Any) -> str:
    return json.dumps({"answers": answers(**changes)})


BAD: Mapping[str, tuple[str, str]] = {
    "a false quote": (reply(quotes=[{"file": "answer.py", "text": "return x.sum(axis=0)"}]), "does not say"),
    "a quote of another file": (reply(quotes=[{"file": "NOTES.md", "text": "return x.sum"}]), "does not say"),
    "a quote of no file": (reply(quotes=[{"file": "/etc/passwd", "text": "root"}]), "does not say"),
    "a quote of the bookkeeping": (reply(quotes=[{"file": "submission.toml", "text": "acme-7b"}]), "does not say"),
    "a quote of nothing": (reply(quotes=[{"file": "answer.py", "text": "\n"}]), "3 to 2000 characters"),
    "four quotes": (reply(quotes=[{"file": "answer.py", "text": "return"}] * 4), "at most 3"),
    "a mark over 100": (reply(mark=101), "less than or equal to 100"),
    "a mark under 0": (reply(mark=-1), "greater than or equal to 0"),
    "a mark in words": (reply(mark="high"), "valid number"),
    "true for a mark": (reply(mark=True), "valid number"),
    "no number for a mark": (reply(mark=float("nan")), "mark"),
    "no remark": (reply(remark=" "), "1 to 500 characters"),
    "a remark without end": (reply(remark="a" * 501), "1 to 500 characters"),
    "an unknown question": (reply(question="speed"), "there is no question 'speed'"),
    "a question twice": (reply(question="analysis"), "answered twice"),
    "a question missing": (json.dumps({"answers": answers()[:1]}), "'analysis' is not answered"),
    "more than was asked": (reply(overall=100), "Extra inputs"),
    "no answers": ("{}", "answers: Field required"),
    "prose": ("I would give it full marks.", "no JSON object"),
    "half of it": (reply()[:-20], "JSON"),
    "nested without end": ('{"answers": ' + "[" * 9_999 + "]}", "JSON"),
    "half a character": (reply(remark="\ud800"), "JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_reply_is_asked_for_again_with_the_reason(root: Path, command: Command, name: str) -> None:
    folder = submit(root, "acme-7b", NOTES__md="Notes.\n")
    text, reason = BAD[name]
    with serving(lambda request: request.say(text) if request.number == 1 else request.mark(64)) as server:
        ran = review(command, server.url, "--repeats", "1")
    assert ran.code == 0, ran.err
    first, second = server.requests
    assert reason in second.user.rpartition("An earlier reply was refused: ")[2]
    assert "refused" not in first.user
    (read,) = read_reviews(Workspace(root).challenge("rows"), folder)
    assert [mark.mark for mark in read.marks] == [64, 64]


def test_a_reply_refused_every_time_is_lost_and_said_to_be(root: Path, command: Command) -> None:
    folder = submit(root, "acme-7b")
    bad = reply(quotes=[{"file": "answer.py", "text": "return nothing"}])

    def behave(request: Request) -> None:
        if request.number <= TRIES:
            request.say(bad)
        else:
            request.mark(60 if request.number == TRIES + 1 else 70)

    with serving(behave) as server:
        ran = review(command, server.url)
    assert ran.code == 0
    assert "reply 1 of 3 is lost: question 'readability': 'answer.py' does not say 'return nothing'" in ran.err
    assert "2 of 3 replies could be used" in ran.err
    (read,) = read_reviews(Workspace(root).challenge("rows"), folder)
    assert [(m.mark, m.repeats, m.remark) for m in read.marks] == [(65, (60, 70), "For 60.")] * 2


def test_where_no_reply_can_be_used_nothing_is_written(root: Path, command: Command) -> None:
    folder = submit(root, "acme-7b")
    with serving(lambda request: request.say("no")) as server:
        ran = review(command, server.url)
    assert ran.code == 3
    assert f"none of 3 replies could be used, each asked for {TRIES} times" in ran.err
    assert len(server.requests) == 3 * TRIES
    assert not (folder / "reviews").exists()


@pytest.mark.parametrize(
    "around", ["```json\n{}\n```", "Here it is:\n{}\nThat is all.", "<think>{perhaps}</think>{}", "{}"]
)
def test_what_stands_around_the_json_is_passed_over(root: Path, command: Command, around: str) -> None:
    submit(root, "acme-7b")
    with serving(lambda request: request.say(around.replace("{}", reply()))) as server:
        assert review(command, server.url).code == 0


def test_spread_is_shown(root: Path, command: Command) -> None:
    submit(root, "acme-7b")
    with serving(lambda request: request.mark(30 * request.number)) as server:
        ran = review(command, server.url)
    (line,) = [line for line in ran.out.splitlines() if line.startswith("readability")]
    assert line.split()[:5] == ["readability", "60", "30", "60", "90"]


def test_a_reply_does_not_steer_the_terminal(root: Path, command: Command) -> None:
    submit(root, "acme-7b")
    with serving(lambda request: request.mark(50, remark="a\x1b[2Jb[red]c")) as server:
        ran = review(command, server.url)
    assert "\x1b" not in ran.out + ran.err
    assert "[2Jb[red]c" in ran.out


@pytest.mark.parametrize("kind", [MarksReply, PairReply])
def test_a_reply_of_millions_of_wrong_answers_is_refused_at_the_first(kind: type[MarksReply] | type[PairReply]) -> None:
    with pytest.raises(Refused, match="more than 262144 characters"):
        parse('{"answers": [' + "0," * 2_000_000 + "0]}", kind, QUESTIONS)
    with pytest.raises(ValidationError) as error:
        kind.model_validate_json('{"answers": [' + "0," * 100_000 + "0]}")
    assert error.value.error_count() == 1
