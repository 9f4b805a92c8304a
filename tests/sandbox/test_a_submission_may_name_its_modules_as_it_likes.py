"""A submission's own modules are the ones it imports, whatever the harness calls its own in the box."""

import pytest

from harness.model import Limits
from harness.sandbox import CallStatus, RemoteFunction, Scalar, WorkerSession, WorkerSpec

OURS = ("wire", "worker", "suite", "planted", "submission", "harness", "helper")


@pytest.mark.parametrize("entry", ["answer.py", "a/b/answer.py", "wire.py", "worker.py"])
def test_its_modules_are_found_first(tmp_path, tier, entry):
    place = (tmp_path / entry).parent
    place.mkdir(parents=True, exist_ok=True)
    names = [name for name in OURS if f"{name}.py" != entry]
    for name in names:
        (place / f"{name}.py").write_text("MINE = 1\n")
    (tmp_path / entry).write_text(
        f"import {', '.join(names)}\ndef total(): return sum([{', '.join(f'{n}.MINE' for n in names)}])\n"
    )
    with WorkerSession(WorkerSpec(tmp_path, entry, ("total",), Limits(), tier)) as box:
        reply = box.open()
        assert (reply.status, reply.value) == (CallStatus.RETURNED, ["total"]), reply.text
        assert box.call("total", returns=Scalar(int)).value == len(names)


def test_a_module_of_ours_is_not_shadowed(tmp_path, tier):
    (tmp_path / "answer.py").write_text("import planted\ndef ask(f): return f()\n")
    (tmp_path / "planted.py").write_text("def right(): return False\n")
    with WorkerSession(WorkerSpec(tmp_path, "answer.py", ("ask",), Limits(), tier)) as box:
        box.open()
        box.load("planted", "def right(): return True\n")
        assert box.call("ask", RemoteFunction("planted", "right"), returns=Scalar(bool)).value is True
