"""A reply the parent did not ask for never counts."""

import time

import pytest

from harness.sandbox import CallStatus, Nothing, Scalar
from tests.reaching_in import REACHING_IN


@pytest.mark.parametrize(
    "message",
    [
        '{"id": 99, "value": 1.0}',
        '{"id": true, "value": 1.0}',
        '{"id": 3, "value": 1.0, "passed": true}',
        '{"id": 3}',
        '{"id": 3, "raised": ["ValueError"]}',
        "[2]",
        "no json",
        "[" * 50_000,
        "9" * 59_000,
    ],
)
def test_a_reply_of_another_form_ends_the_worker(opened, tier, message):
    source = REACHING_IN + f"def f():\n    control().send({message!r}.encode())\n    import time; time.sleep(5)\n"
    box = opened(source)
    assert box.call("f", returns=Scalar(float)).status is CallStatus.PROTOCOL_VIOLATION
    assert box.call("f", returns=Scalar(float)).status is CallStatus.CRASHED


def test_a_reply_sent_before_its_request_is_seen(opened, tier):
    source = (
        REACHING_IN
        + """
import threading, time
def early():
    time.sleep(0.05)
    control().send(b'{"id": 4, "value": 1.0}')
def f():
    threading.Thread(target=early).start()
"""
    )
    box = opened(source)
    assert box.call("f", returns=Nothing()).status is CallStatus.RETURNED
    time.sleep(0.3)
    second = box.call("f", returns=Scalar(float))
    assert second.status is CallStatus.PROTOCOL_VIOLATION and "without being asked" in second.text


def test_file_descriptors_sent_along_are_refused(opened, tier):
    source = REACHING_IN + (
        "def f():\n    fds = array.array('i', [1])\n"
        '    control().sendmsg([b\'{"id": 3, "value": 1.0}\'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])\n'
        "    import time; time.sleep(5)\n"
    )
    assert opened(source).call("f", returns=Scalar(float)).status is CallStatus.PROTOCOL_VIOLATION
