"""An exception's file and line are data: the innermost line of the submission, or nothing where it has no such line."""

import json

import pytest

from harness.sandbox import CallStatus, Nothing, Reply
from harness.sandbox.session.exception_reply import make_exception_reply

FORGE = """
import array, json, os, socket
def f():
    for fd in range(3, 64):
        try:
            control = socket.socket(fileno=os.dup(fd))
        except OSError:
            continue
        if control.type == socket.SOCK_SEQPACKET:
            control.send(json.dumps({"id": %d, "raised": ["ValueError", "mine", ["ValueError"], %s]}).encode())
            __import__("time").sleep(5)
"""
FORGED = [
    ["/etc/passwd", 1],
    ["../answer.py", 1],
    ["other.py", 1],
    ["answer.py", 10_000],
    ["answer.py", 0],
    ["answer.py", -3],
    ["answer.py", True],
    ["answer.py", "3"],
    ["answer.py", 2.0],
    ["answer.py", None],
    ["answer.py"],
    [["answer.py"], 3],
    [{"file": "answer.py"}, 3],
    "answer.py:3",
    {"file": "answer.py", "line": 3},
    3,
]


def places(reply: Reply) -> list[str]:
    return list(map(str, reply.locations))


def test_the_innermost_line_of_the_submission_is_named(opened, tier):
    box = opened(
        "import numpy as np\n"
        "def inner():\n    np.zeros(2) @ np.zeros(3)\n"
        "def f():\n    inner()\n"
        "def g():\n    raise KeyError\n"
    )
    reply = box.call("f", returns=Nothing())
    assert (reply.status, reply.exception, places(reply)) == (CallStatus.RAISED, "ValueError", ["answer.py:3"])
    assert reply.text.endswith("(answer.py:3)")
    reply = box.call("g", returns=Nothing())
    assert (reply.exception, reply.text, places(reply)) == ("KeyError", "KeyError (answer.py:7)", ["answer.py:7"])


def test_what_is_raised_outside_the_submission_has_no_place(opened, tier):
    box = opened("def f():\n    pass\n")
    reply = box.call("f", 1, 2, 3, returns=Nothing())
    assert (reply.exception, places(reply)) == ("TypeError", []) and ".py:" not in reply.text


def test_an_error_that_cannot_be_looked_at_is_still_an_answer(opened, tier):
    box = opened(
        "class Evil(SyntaxError):\n"
        "    filename = property(lambda self: 1 / 0)\n"
        "    def __str__(self): raise KeyboardInterrupt\n"
        "def f():\n    raise Evil\n"
    )
    reply = box.call("f", returns=Nothing())
    assert (reply.status, reply.exception) == (CallStatus.RAISED, "Evil")


@pytest.mark.parametrize("place", FORGED, ids=str)
def test_a_place_that_the_submission_does_not_have_is_dropped(tmp_path, place):
    (tmp_path / "answer.py").write_text("a\nb\nc\n")
    (tmp_path / "other.py").write_text("a\n")  # not the submission's own: an adapter, a driver
    reply = make_exception_reply(["ValueError", "mine", ["ValueError"], place], tmp_path, ("answer.py",))
    assert reply is not None
    assert (reply.status, reply.text, reply.locations) == (CallStatus.RAISED, "ValueError: mine", ())


@pytest.mark.parametrize(("place", "kept"), [(["answer.py", 3], ["answer.py:3"]), (["answer.py", 99], []), ("x", [])])
def test_a_worker_that_writes_its_own_reply_can_name_its_own_lines_only(opened, tier, place, kept):
    box = opened(FORGE % (2, json.dumps(place)))
    reply = box.call("f", returns=Nothing())
    assert reply.status is CallStatus.RAISED and "mine" in reply.text
    assert places(reply) == kept


@pytest.mark.parametrize("claim", [["ValueError", "mine", []], ["ValueError", 1, [], None], [None, "", [], None], {}])
def test_what_does_not_have_the_form_of_an_exception_is_none(tmp_path, claim):
    assert make_exception_reply(claim, tmp_path, ("answer.py",)) is None
