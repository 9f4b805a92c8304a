"""Workers after the first run the entry as it was compiled before a byte of it ran, and nothing else is different."""

from collections.abc import Iterator
from pathlib import Path

from harness.model import Limits, Tier
from harness.sandbox import CallStatus, Reply, Scalar, WorkerSession, WorkerSpec, start_fork_server

TAMPERS = """
import builtins, importlib.machinery, marshal

def forged(*_): return compile("def told(): return 'forged'", "forged", "exec")
builtins.__dict__["compile"], real = forged, compile
importlib.machinery.SourceFileLoader.get_code = forged
marshal.dumps = lambda *_: b""

def told(): return "as written, in " + __file__.rsplit("/")[-1] + " of " + __spec__.name
"""
RAISES = '''
"""A docstring."""

def told():
    raise ValueError(__doc__)
'''


def workers(folder: Path, source: str, tier: Tier, count: int) -> Iterator[WorkerSession]:
    """Workers of one answer, one after the other."""
    (folder / "answer.py").write_text(source)
    spec = WorkerSpec(folder, "answer.py", ("told",), Limits(), tier, sources=("answer.py",))
    server = start_fork_server(spec)
    try:
        for _ in range(count):
            with WorkerSession(spec, server) as box:
                yield box
    finally:
        server.close()


def told(box: WorkerSession) -> Reply:
    assert box.open().value == ["told"]
    return box.call("told", returns=Scalar(str))


def test_what_an_answer_does_to_the_compiler_reaches_no_later_worker(tmp_path: Path, tier: Tier) -> None:
    said = [told(box).value for box in workers(tmp_path, TAMPERS, tier, 3)]
    assert said == ["as written, in answer.py of submission_entry"] * 3


def test_errors_have_their_place_in_every_worker(tmp_path: Path, tier: Tier) -> None:
    first, *others = (told(box) for box in workers(tmp_path, RAISES, tier, 3))
    assert first.status is CallStatus.RAISED and [place.line for place in first.locations] == [5]
    assert all((o.text, o.exception, o.locations) == (first.text, "ValueError", first.locations) for o in others)


def test_what_does_not_compile_is_told_by_every_worker(tmp_path: Path, tier: Tier) -> None:
    replies = [box.open() for box in workers(tmp_path, "def told(:\n", tier, 2)]
    assert [reply.status for reply in replies] == [CallStatus.RAISED] * 2
    assert {(reply.exception, reply.locations[0].line) for reply in replies} == {("SyntaxError", 1)}
