"""Answers that try to use up the machine: processes, threads, memory, disk, output, time."""

from harness.model import SignalKind
from tests.attacks.attack import Attack, Expect
from tests.attacks.planting import planted
from tests.attacks.wrapping import KV_CACHE, LAYER_NORM

KIND = "using up the machine"
CALLS = frozenset({SignalKind.SYSTEM_CALL})

FORK_BOMB = """
def deed():
    for number in range(200):
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        if number == 64:
            got("64 processes")
"""
THREAD_BOMB = """
def deed():
    threading.stack_size(32 << 10)
    for number in range(5000):
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
        if number == 4096:
            got("4096 threads")
"""
PRIVATE_MEMORY = """
def deed():
    hoard = mmap.mmap(-1, 3 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for place in range(0, 3 << 30, 4096):
        hoard[place] = 1
    got("3 GiB of private memory")
"""
SHARED_MEMORY = """
def deed():
    hoard = mmap.mmap(-1, 3 << 30, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    for place in range(0, 3 << 30, 4096):
        hoard[place] = 1
    got("3 GiB of shared memory")
"""
MEMORY_FILES = """
def deed():
    files = [os.memfd_create("hoard") for _ in range(40)]
    for file in files:
        os.posix_fallocate(file, 0, 15 << 20)
    got("600 MiB that belong to no process")
"""
LOCKED_MEMORY = """
def deed():
    hoard = mmap.mmap(-1, 64 << 20)
    syscall(149, ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(hoard))), 64 << 20)
    got("64 MiB that cannot be swapped out")
"""
DISK = """
def deed():
    written = 0
    for place in (os.environ["TMPDIR"], os.path.dirname(__file__), "/tmp", "/dev/shm", "/var/tmp", "/run", "/dev", "/"):
        try:
            for number in range(8):
                with open(os.path.join(place, f"{WORLD['token']}-{number}"), "wb") as file:
                    for _ in range(15):
                        written += file.write(bytes(1 << 20))
                        file.flush()
        except OSError:
            pass
    if written > 48 << 20:
        got(f"{written >> 20} MiB of files")
"""
SPARSE_FILE = """
def deed():
    with open(os.path.join(os.environ["TMPDIR"], WORLD["token"]), "wb") as file:
        file.truncate(1 << 40)
    got("a file of 1 TiB")
"""
MANY_FILES = """
def deed():
    os.chdir(os.environ["TMPDIR"])
    for number in range(3000):
        os.close(os.open(f"{WORLD['token']}-{number}", os.O_CREAT | os.O_WRONLY))
"""
DEEP_FOLDERS = """
def deed():
    os.chdir(os.environ["TMPDIR"])
    for _ in range(1500):
        os.mkdir(WORLD["token"])
        os.chdir(WORLD["token"])
"""
UNREMOVABLE = """
def deed():
    place = os.path.join(os.environ["TMPDIR"], WORLD["token"])
    os.mkdir(place)
    open(os.path.join(place, "kept"), "w").close()
    os.chmod(place, 0)
"""
DESCRIPTORS = """
def deed():
    held = []
    for number in range(100_000):
        held.append(os.open("/dev/null", os.O_RDONLY))
        if number == 8192:
            got("8192 open files")
"""
PIPE_BUFFERS = """
def deed():
    held = [os.pipe() for _ in range(16)]
    for _, end in held:
        fcntl.fcntl(end, 1031, 1 << 20)
    got("16 MiB of pipe buffers")
"""
ENDLESS_OUTPUT = """
def deed():
    while True:
        os.write(2, b"all is well, all is well, all is well\\n" * 1700)
"""
ENDLESS_LOOP = """
def deed():
    while True:
        pass
"""
DEAF_SLEEP = """
def deed():
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        time.sleep(1)
"""
STOPPED = """
def deed():
    syscall(234, os.getpid(), threading.get_native_id(), signal.SIGSTOP)
"""
BURNER = """
import numpy as np

def deed():
    def burn():
        matrix = np.ones((200, 200))
        while True:
            matrix @ matrix
    threading.Thread(target=burn, daemon=True).start()
"""
DEEP_STACK = """
def deed():
    @ctypes.CFUNCTYPE(None)
    def down():
        down()
    sys.setrecursionlimit(10**9)
    down()
"""

ATTACKS: tuple[Attack, ...] = (
    *planted("fork bomb", KIND, FORK_BOMB, signals=CALLS),
    *planted("thread bomb", KIND, THREAD_BOMB, challenges=(LAYER_NORM,)),
    *planted("private memory bomb", KIND, PRIVATE_MEMORY),
    *planted("shared memory bomb", KIND, SHARED_MEMORY),
    *planted("memory file bomb", KIND, MEMORY_FILES, signals=CALLS, challenges=(LAYER_NORM,)),
    *planted("locked memory", KIND, LOCKED_MEMORY),
    *planted("disk filled", KIND, DISK),
    *planted("sparse file of a terabyte", KIND, SPARSE_FILE),
    *planted("thousands of files", KIND, MANY_FILES),
    *planted("folders nested without end", KIND, DEEP_FOLDERS),
    *planted("folder that nobody may enter", KIND, UNREMOVABLE),
    *planted("every file descriptor", KIND, DESCRIPTORS),
    *planted("large pipe buffers", KIND, PIPE_BUFFERS),
    *planted("endless output", KIND, ENDLESS_OUTPUT, expect=Expect.NO_CREDIT),
    *planted("endless loop", KIND, ENDLESS_LOOP, expect=Expect.NO_CREDIT, challenges=(KV_CACHE,)),
    *planted("sleep deaf to signals", KIND, DEAF_SLEEP, expect=Expect.NO_CREDIT, challenges=(KV_CACHE,)),
    *planted("stops itself", KIND, STOPPED),
    *planted("work in the background", KIND, BURNER, signals=frozenset({SignalKind.BACKGROUND})),
    *planted("stack without end", KIND, DEEP_STACK, expect=Expect.NO_CREDIT, challenges=(LAYER_NORM,)),
)
