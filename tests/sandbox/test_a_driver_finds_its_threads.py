"""A device's driver finds the threads that it starts under /proc by their ids, and may name them."""

from pathlib import Path

from harness.model import Limits, Tier
from harness.sandbox import Box, CallStatus, Scalar, WorkerSpec

ANSWER = """
import threading


def named():
    thread = threading.get_native_id()
    with open(f"/proc/self/task/{thread}/comm", "w") as file:
        file.write("driver")
    with open(f"/proc/self/task/{thread}/comm") as file:
        return file.read().strip()


def in_a_thread():
    names = []
    thread = threading.Thread(target=lambda: names.append(named()))
    thread.start()
    thread.join()
    return names[0]
"""


def test_where_a_device_is_shown(tier: Tier, tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text(ANSWER)
    spec = WorkerSpec(
        tmp_path, "answer.py", ("named", "in_a_thread"), Limits(), tier, devices=(Path("/dev/null"), Path("/sys"))
    )
    with Box(spec) as box:
        assert box.open().status is CallStatus.RETURNED
        for function in spec.functions:  # the first thread and a later one
            reply = box.call(function, returns=Scalar(str))
            assert (reply.status, reply.value) == (CallStatus.RETURNED, "driver"), reply.text
