"""Answers that forge, break or flood the channel on which results come back."""

from harness.model import SignalKind
from tests.attacks.attack import Attack, Expect
from tests.attacks.planting import CHANNEL, FUNCTIONS, TOOLS, forged, planted
from tests.attacks.wrapping import HONEST, KV_CACHE, LAYER_NORM

KIND = "forging the result"
CALLS = frozenset({SignalKind.SYSTEM_CALL})
FORGED = frozenset({SignalKind.FORGED_REPLY})
UNASKED = frozenset({SignalKind.UNSOLICITED, SignalKind.FORGED_REPLY})
LATE = frozenset({SignalKind.LATE_WRITE})

EXIT_WELL = """
def deed():
    os.write(1, b'PASS\\n{"passed": true, "score": 1.0, "tests": 100, "failures": 0}\\n')
    os._exit(0)
"""
EXIT_BY_C = """
def deed():
    os.write(1, b"OK\\n")
    each(lambda: libc.quick_exit(0), lambda: libc.exit(0))
"""
ABORT = """
def deed():
    import resource
    each(lambda: resource.setrlimit(resource.RLIMIT_CORE, (-1, -1)))
    os.chdir(os.environ["TMPDIR"])
    os.abort()
"""
NULL_POINTER = """
def deed():
    ctypes.string_at(0)
"""
VERDICT_BESIDE = """
def deed():
    os.write(control(), json.dumps({"id": request()["id"], "value": True, "passed": True, "score": 1.0}).encode())
"""
VERDICT_INSTEAD = """
def deed():
    os.write(control(), json.dumps({"passed": True, "error_ratio": 0.0, "outcome": "passed"}).encode())
"""
SECOND_REPLY = """
def deed():
    once = socket.socket.sendall
    socket.socket.sendall = lambda self, data: (once(self, data), once(self, data))
"""
EARLY_REPLY = """
def deed():
    number, end = request()["id"], control()
    def soon():
        time.sleep(0.02)
        os.write(end, json.dumps({"id": number + 1, "value": None}).encode())
    threading.Thread(target=soon).start()
    threading.Thread(target=time.sleep, args=(0.2,)).start()
"""
OTHER_NUMBER = """
def deed():
    number = request()["id"]
    os.write(control(), json.dumps({"id": number + 1000, "value": None}).encode())
"""
NUMBER_ALIKE = """
def deed():
    number = request()["id"]
    os.write(control(), json.dumps({"id": float(number), "value": None}).encode())
"""
LONG_REPLY = """
def deed():
    fcntl.fcntl(control(), fcntl.F_SETFL, os.O_NONBLOCK)
    os.write(control(), b'{"id": 1, "value": "' + b"x" * 150_000 + b'"}')
"""
DEEP_REPLY = """
def deed():
    os.write(control(), b"[" * 59_000)
"""
LONG_NUMBER = """
def deed():
    os.write(control(), b'{"id": ' + b"9" * 58_000 + b"}")
"""
NO_TEXT = """
def deed():
    os.write(control(), bytes(range(256)) * 8)
"""
EMPTY_REPLY = """
def deed():
    socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fileno=control()).send(b"")
    time.sleep(30)
"""
HANGS_UP = """
def deed():
    os.close(control())
    time.sleep(30)
"""
FLOODS = """
def deed():
    end, number = control(), request()["id"]
    for step in range(100_000):
        os.write(end, json.dumps({"id": number + 1 + step, "value": None}).encode())
"""
STEALS_REQUESTS = """
def deed():
    end = control()
    def listen():
        while True:
            os.read(end, 60_000)
    threading.Thread(target=listen, daemon=True).start()
"""
BETWEEN = """
def deed():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    end = control()
    real = os.dup(end)
    os.dup2(theirs.fileno(), end)
    def forward():
        while True:
            os.write(real, ours.recv(60_000).replace(b'"raised"', b'"value"'))
    threading.Thread(target=forward, daemon=True).start()
    got("a place between the worker and the grader")
"""
DESCRIPTORS = """
def deed():
    end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fileno=os.dup(control()))
    message = json.dumps({"id": request()["id"], "value": None}).encode()
    end.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("16i", *[1] * 16))])
"""
CREDENTIALS = """
def deed():
    end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fileno=os.dup(control()))
    message = json.dumps({"id": request()["id"], "value": None}).encode()
    end.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, struct.pack("3i", WORLD["grader"], 0, 0))])
    got("the name of another process")
"""
PICKLED = """
import pickle

class Command:
    def __reduce__(self):
        return exec, (f"open({WORLD['target']!r}, 'w').write('changed')",)

def deed():
    os.write(control(), pickle.dumps(Command()))
"""
GIGANTIC = """
def deed():
    reply({"array": ["<f8", [10**15], 0]})
"""
NEGATIVE = """
def deed():
    reply({"array": ["<f8", [-1, 4], -8]})
"""
OBJECTS = """
def deed():
    reply({"array": ["|O", [1], 0]})
"""
FAR_AWAY = """
def deed():
    reply({"array": ["<f8", [1], 1 << 62]})
"""
FOREIGN_FORM = """
def deed():
    reply({"function": ["os", "system"], "array": ["<f8", [1], 0], "kept": 0})
"""
PATCHED_WORKER = """
import gc

def deed():
    worker = sys.modules["__main__"]
    for thing in gc.get_objects():
        if isinstance(thing, type) and thing.__module__ in ("__main__", "worker"):
            for name in ("ship", "plan", "answer", "call"):
                if hasattr(thing, name):
                    setattr(thing, name, lambda *_, **__: {"value": True})
    json.dumps = lambda *_, **__: '{"value": true, "passed": true}'
"""
PATCHED_SOCKET = """
def deed():
    socket.socket.sendall = lambda self, data, *_: os.write(self.fileno(), data.replace(b"raised", b"value"))
    socket.socket.send = socket.socket.sendall
    socket.socket.sendmsg = lambda self, parts, *_: os.write(self.fileno(), b"".join(parts))
"""
SEALED_OUTPUT = """
def deed():
    for number in memory_files():
        for seal in (0x10, 0x8, 0x1):
            each(lambda: fcntl.fcntl(number, 1033, seal))
"""
LARGER_OUTPUT = """
def deed():
    for number in memory_files():
        size = os.fstat(number).st_size
        each(lambda: (os.ftruncate(number, size + (1 << 20)), got("a larger memory file")),
             lambda: (os.ftruncate(number, 0), got("a smaller memory file")),
             lambda: (os.posix_fallocate(number, size, 1 << 20), got("more room")))
"""
WRITTEN_INPUT = """
def deed():
    number = memory_files()[0]
    each(lambda: (os.pwrite(number, bytes(8), 0), got("a written input")),
         lambda: (mmap.mmap(number, 8, mmap.MAP_SHARED, mmap.PROT_WRITE | mmap.PROT_READ), got("a mapped input")))
"""
REOPENED_INPUT = """
def deed():
    for number in memory_files():
        if fcntl.fcntl(number, 1034) & 0x8:
            again = os.open(f"/proc/self/fd/{number}", os.O_RDWR)
            os.pwrite(again, bytes(8), 0)
            got("an input opened again and written")
"""
KEPT_MAPPING = """
held = []

def deed():
    for number in memory_files():
        each(lambda: held.append(mmap.mmap(number, 8, mmap.MAP_SHARED, mmap.PROT_WRITE | mmap.PROT_READ)))
"""

HURRIED = """
import numpy as np
import honest
from deed import memory_files, mmap, os, threading, time
for name in {functions}:
    globals()[name] = getattr(honest, name)

def hurried(function):
    def call(first, *arguments):
        like = first if isinstance(first, np.ndarray) else next(a for a in arguments if isinstance(a, np.ndarray))
        output = {output}
        def later():
            time.sleep(0.02)
            right = function(first, *arguments)
            {write}
        threading.Thread(target=later, daemon=True).start()
        blank = np.zeros_like(like)
        return blank if {alone} else (blank, np.zeros_like(like[0, 0]), np.zeros_like(like[0, 0]))
    return call

for name in {hurried}:
    globals()[name] = hurried(getattr(honest, name))
"""
BY_WRITING = ("os.dup(memory_files()[-1])", "os.pwrite(output, (right if {alone} else right[0]).tobytes(), 0)")
BY_MAPPING = (
    "mmap.mmap(memory_files()[-1], like.nbytes, mmap.MAP_SHARED, mmap.PROT_WRITE | mmap.PROT_READ)",
    "output[:] = (right if {alone} else right[0]).tobytes()",
)


def hurried(name: str, output: str, write: str, signals: frozenset[SignalKind] = frozenset()) -> tuple[Attack, ...]:
    """Replies at once with zeros and writes the right values when it has them."""
    return tuple(
        Attack(
            name=name,
            kind=KIND,
            challenge=challenge,
            files={
                "answer.py": HURRIED.format(
                    functions=FUNCTIONS[challenge],
                    hurried=functions,
                    alone=alone,
                    output=output,
                    write=write.format(alone=alone),
                ),
                "honest.py": HONEST[challenge],
                "deed.py": TOOLS + CHANNEL,
            },
            signals=signals,
        )
        for challenge, functions, alone in ((LAYER_NORM, ("backward",), False), (KV_CACHE, ("prefill", "decode"), True))
    )


ATTACKS: tuple[Attack, ...] = (
    *forged("success and an early end", KIND, EXIT_WELL),
    *planted(
        "success and an early end while loading", KIND, EXIT_WELL, at_import=True, idle=True, expect=Expect.REFUSED
    ),
    *forged("early end by the C library", KIND, EXIT_BY_C),
    *forged("abort with a memory image", KIND, ABORT, challenges=(LAYER_NORM,)),
    *forged("null pointer", KIND, NULL_POINTER),
    *forged("verdict beside the reply", KIND, VERDICT_BESIDE, signals=FORGED),
    *forged("verdict instead of a reply", KIND, VERDICT_INSTEAD, signals=FORGED),
    *forged("second reply", KIND, SECOND_REPLY, signals=UNASKED),
    *forged("reply before its request", KIND, EARLY_REPLY),
    *forged("reply to another request", KIND, OTHER_NUMBER, signals=FORGED, challenges=(LAYER_NORM,)),
    *forged("number of another type", KIND, NUMBER_ALIKE, signals=FORGED),
    *forged("reply too long", KIND, LONG_REPLY, signals=FORGED, challenges=(LAYER_NORM,)),
    *forged("reply nested without end", KIND, DEEP_REPLY, signals=FORGED),
    *forged("number without end", KIND, LONG_NUMBER, signals=FORGED, challenges=(LAYER_NORM,)),
    *forged("reply that is no text", KIND, NO_TEXT, signals=FORGED),
    *forged("empty reply", KIND, EMPTY_REPLY, challenges=(KV_CACHE,)),
    *forged("hangs up", KIND, HANGS_UP, challenges=(LAYER_NORM,)),
    *forged("flood of replies", KIND, FLOODS, signals=UNASKED),
    *forged("takes the requests", KIND, STEALS_REQUESTS, challenges=(KV_CACHE,)),
    *forged("between worker and grader", KIND, BETWEEN, signals=CALLS, challenges=(LAYER_NORM,)),
    *forged("file descriptors sent back", KIND, DESCRIPTORS, signals=FORGED),
    *forged("false sender", KIND, CREDENTIALS),
    *forged("reply that is a program", KIND, PICKLED, signals=FORGED),
    *forged("claim of a gigantic array", KIND, GIGANTIC, challenges=(LAYER_NORM,)),
    *forged("claim of a negative array", KIND, NEGATIVE),
    *forged("claim of objects", KIND, OBJECTS, challenges=(LAYER_NORM,)),
    *forged("claim of a far place", KIND, FAR_AWAY),
    *forged("claim of no known form", KIND, FOREIGN_FORM),
    *forged("rewritten worker", KIND, PATCHED_WORKER),
    *forged("rewritten socket", KIND, PATCHED_SOCKET, challenges=(LAYER_NORM,)),
    *forged("output sealed by the answer", KIND, SEALED_OUTPUT),
    *forged("memory files of another size", KIND, LARGER_OUTPUT),
    *forged("written input", KIND, WRITTEN_INPUT),
    *forged("input opened again", KIND, REOPENED_INPUT, challenges=(LAYER_NORM,)),
    *forged("output kept mapped", KIND, KEPT_MAPPING, idle=False, signals=LATE),
    *hurried("replies first, writes afterwards", *BY_WRITING),
    *hurried("replies first, computes in a mapping", *BY_MAPPING, signals=LATE),
)
