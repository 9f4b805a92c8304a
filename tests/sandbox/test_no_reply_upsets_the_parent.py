"""Whatever a worker sends, the parent gets a value that was asked for or a reason: never an error of its own."""

import pytest

from harness.sandbox import CallStatus, Nothing, Scalar, Tree


@pytest.mark.parametrize(
    ("value", "plan", "status"),
    [
        ("2**63 - 1", Scalar(int), CallStatus.RETURNED),
        ("10**400", Scalar(int), CallStatus.MALFORMED),
        ("[10**400]", Tree(0), CallStatus.MALFORMED),
        ("'x' * 40_000", Tree(0), CallStatus.RETURNED),
        ("'x' * 59_000", Tree(0), CallStatus.MALFORMED),
    ],
)
def test_only_what_can_be_reckoned_with_and_handed_back_crosses(opened, tier, value, plan, status):
    box = opened(f"def f(*a): return {value}\n")
    reply = box.call("f", returns=plan)
    assert reply.status is status
    if status is CallStatus.RETURNED:
        assert box.call("f", reply.value, returns=plan).status is CallStatus.RETURNED


def test_half_a_surrogate_pair_becomes_a_question_mark(opened, tier):
    box = opened("def f(): return '\\ud800 and \\U0001f600'\ndef g(): raise ValueError('\\udfff')\n")
    assert box.call("f", returns=Tree(0)).value == "? and \U0001f600"
    assert "ValueError: ?" in box.call("g", returns=Nothing()).text


HOSTILE_ERRORS = """
class Name(str):
    def __getitem__(self, part): return 'y' * 50_000
class Long(type):
    @property
    def __name__(cls): return Name('x')
class Ends(type):
    @property
    def __name__(cls): raise SystemExit(3)
class Odd(type):
    @property
    def __name__(cls): return [1]
def f(kind):
    class Error(BaseException, metaclass={'long': Long, 'ends': Ends, 'odd': Odd}[kind]):
        def __str__(self): raise self
    raise Error
"""


@pytest.mark.parametrize(
    ("kind", "status"),
    [("long", CallStatus.PROTOCOL_VIOLATION), ("ends", CallStatus.CRASHED), ("odd", CallStatus.PROTOCOL_VIOLATION)],
)
def test_an_error_that_hides_its_name_ends_the_worker(opened, tier, kind, status):
    assert opened(HOSTILE_ERRORS).call("f", kind, returns=Nothing()).status is status
