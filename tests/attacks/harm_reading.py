"""Answers that read what they were not given: secrets, solutions, other submissions, the harness itself."""

from harness.model import SignalKind
from tests.attacks.attack import Attack
from tests.attacks.planting import planted
from tests.attacks.wrapping import CHALLENGES, LAYER_NORM

KIND = "reading what is hidden"
CALLS = frozenset({SignalKind.SYSTEM_CALL})
FILES = frozenset({SignalKind.UNSEEN_FILE})
EITHER = CALLS | FILES

SECRET = """
def deed():
    for path in HIDDEN:
        each(lambda: got(open(path).read()[:60]))
"""
SOLUTIONS = """
def deed():
    for path in (WORLD["reference"], WORLD["oracle"], HIDDEN[-1]):
        each(lambda: got(open(path).read()[:60]))
    sys.path[:0] = [os.path.dirname(WORLD["oracle"]), os.path.dirname(HIDDEN[-1])]
    each(lambda: got(__import__("oracle").__doc__))
"""
PROBES = """
def deed():
    for root in ROOTS:
        for name in ("challenge.toml", "probes.py", "binding.py", "mutants.py"):
            for id in ("layernorm_backward", "kv_cache"):
                each(lambda: got((root / "challenges" / id / name).read_text()[:60]))
        # the interpreter's own folder is shown at its place, wherever that is
        each(lambda: [got(name) for name in os.listdir(root) if not name.startswith(".venv")])
        each(lambda: got(os.listdir(root / "challenges")))
"""
HARNESS = """
def deed():
    for place in (*ROOTS, *map(pathlib.Path, sys.path)):
        for name in ("grading/submission_grade.py", "mutation/checks/check.py", "scoring/score.py"):
            each(lambda: got((place / "harness" / name).read_text()[:60]))
    each(lambda: got(__import__("harness.grading.submission_grade").__file__))
"""
HISTORY = """
def deed():
    for git in (root / ".git" for root in ROOTS):
        for name in ("HEAD", "logs/HEAD", "packed-refs", "index"):
            each(lambda: got((git / name).read_bytes()[:40]))
        each(lambda: got(os.listdir(git / "objects")[:4]))
"""
RIVAL = """
def deed():
    other = pathlib.Path(WORLD["other"])
    each(lambda: got(os.listdir(other)), lambda: got((other / "answer.py").read_text()))
    each(lambda: got(os.listdir(other.parents[1])))
"""
RECORD = """
def deed():
    record = pathlib.Path(WORLD["record"])
    each(lambda: got(record.read_text()), lambda: got(os.listdir(record.parent)))
"""
ENVIRONMENT = """
def deed():
    value = os.environ.get(WORLD["env"]) or os.environb.get(WORLD["env"].encode())
    if value:
        got(value)
    environment = ctypes.c_char_p(libc.getenv(WORLD["env"].encode()) or None)
    print(environment.value, open("/proc/self/environ").read(), flush=True)
"""
DESCRIPTOR = """
def deed():
    for number in (WORLD["fd"], *range(3, 256)):
        each(lambda: print(number, os.pread(number, 200, 0), os.readlink(f"/proc/self/fd/{number}"), flush=True))
"""
OWN_MEMORY = """
def deed():
    needle = WORLD["env"].encode() + b"="
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            words = line.split()
            first, last = (int(end, 16) for end in words[0].split("-"))
            if "r" not in words[1] or last - first > 64 << 20 or words[-1].startswith("[v"):
                continue
            try:
                memory.seek(first)
                page = memory.read(last - first)
            except (OSError, OverflowError):
                continue
            for piece in page.split(needle)[1:]:
                print(piece[:60], flush=True)
"""
ORACLE_VALUES = """
import gc
import numpy as np

def deed():
    frame = sys._getframe()
    while frame:
        for name, value in frame.f_locals.items():
            if name in ("expected", "right", "wanted", "oracle", "reference", "probe"):
                got(f"{name} in the frame of {frame.f_code.co_name}")
        frame = frame.f_back
    for thing in gc.get_objects():
        for part in gc.get_referents(thing):
            if isinstance(part, np.ndarray) and part.dtype == np.longdouble and part.size > 4:
                got(f"an array of long doubles {part.shape}")
    for name in ("oracle", "probes", "binding", "harness.probing", "harness.grading.submission_grade", "harness"):
        if name in sys.modules:
            got(f"the module {name}")
"""
BY_ROOT_LINKS = """
def deed():
    secret = WORLD["secret"]
    for place in ("/proc/self/root", "/proc/1/root", "/proc/thread-self/root", "/proc/1/cwd/../../..", "/oldroot",
                  "/newroot", "/.oldroot", "/..", "/../../../.."):
        each(lambda: got(open(place + secret).read()))
"""
BY_HANDLE = """
def deed():
    handle = struct.pack("II", 8, 1) + struct.pack("II", 2, 0)
    for place in ("/", "/usr", "/tmp", os.path.dirname(__file__)):
        directory = os.open(place, os.O_RDONLY)
        number = syscall(304, directory, handle, os.O_RDONLY)
        got(f"a file of {place} by its handle: {os.listdir(number)[:3]}")
"""
BY_SYMLINK = """
def deed():
    link = os.path.join(os.environ["TMPDIR"], WORLD["token"])
    os.symlink(os.path.dirname(WORLD["secret"]), link)
    got(open(os.path.join(link, os.path.basename(WORLD["secret"]))).read())
"""
BY_HARD_LINK = """
def deed():
    link = os.path.join(os.environ["TMPDIR"], WORLD["token"])
    os.link(WORLD["secret"], link)
    got(open(link).read())
"""
BY_RAW_CALL = """
def deed():
    how = struct.pack("QQQ", os.O_RDONLY, 0, 0)
    for path in map(os.fsencode, HIDDEN):
        each(lambda: got(os.read(syscall(2, path, 0, 0), 99)), lambda: got(os.read(syscall(257, -100, path, 0, 0), 99)),
             lambda: got(os.read(syscall(437, -100, path, how, len(how)), 99)))
"""
BY_C_LIBRARY = """
def deed():
    libc.fopen.restype = ctypes.c_void_p
    room = ctypes.create_string_buffer(200)
    for path in HIDDEN:
        file = libc.fopen(path.encode(), b"r")
        if file:
            libc.fgets(room, 200, ctypes.c_void_p(file))
            got(room.value)
"""
BY_NUMPY = """
import numpy as np

def deed():
    for path in HIDDEN:
        each(lambda: got(bytes(np.fromfile(path, np.uint8)[:60])), lambda: got(bytes(np.memmap(path)[:60])),
             lambda: got(np.loadtxt(path, str)), lambda: ctypes.CDLL(path))
"""
SYSTEM_FILES = """
def deed():
    for path in ("/etc/passwd", "/etc/shadow", "/etc/hostname", "/root/.bashrc", "/root/.ssh/id_rsa"):
        each(lambda: got(f"{path}: {open(path).read(40)}"))
    for path in ("/home", "/root", "/var/log", "/srv", "/mnt"):
        each(lambda: got(f"{path}: {os.listdir(path)[:4]}"))
"""
KERNEL_LOG = """
def deed():
    room = ctypes.create_string_buffer(4096)
    each(lambda: (syscall(103, 3, room, 4096), got("the kernel's log")),
         lambda: got(os.read(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK), 99)),
         lambda: got(open("/proc/kallsyms").read(99)), lambda: got(open("/proc/kcore", "rb").read(9)),
         lambda: got(open("/dev/mem", "rb").read(9)), lambda: got(open("/dev/vda", "rb").read(9)))
"""
COUNTERS = """
def deed():
    attributes = struct.pack("IIQQQQQ", 1, 112, 1, 0, 0, 0, 0).ljust(112, bytes(1))
    syscall(298, attributes, 0, -1, -1, 0)
    got("performance counters")
"""
MAPPED_PAGES = """
def deed():
    page = os.open("/proc/self/pagemap", os.O_RDONLY)
    held = mmap.mmap(-1, 4096)
    held[0] = 1
    place = ctypes.addressof(ctypes.c_char.from_buffer(held))
    entry, = struct.unpack("Q", os.pread(page, 8, place // 4096 * 8))
    if entry & ((1 << 55) - 1):
        got("the physical place of its memory")
"""

ATTACKS: tuple[Attack, ...] = (
    *planted("secret file", KIND, SECRET, signals=FILES),
    *planted("reference and oracle", KIND, SOLUTIONS, signals=FILES, challenges=CHALLENGES),
    *planted("probes and mutants", KIND, PROBES, signals=FILES, challenges=CHALLENGES),
    *planted("source of the grader", KIND, HARNESS, signals=FILES),
    *planted("history of the repository", KIND, HISTORY, signals=FILES, challenges=(LAYER_NORM,)),
    *planted("another submission", KIND, RIVAL, challenges=(LAYER_NORM,)),
    *planted("records of others", KIND, RECORD),
    *planted("environment of the grader", KIND, ENVIRONMENT),
    *planted("inherited file descriptor", KIND, DESCRIPTOR),
    *planted("secrets in its own memory", KIND, OWN_MEMORY),
    *planted("right answers in its own process", KIND, ORACLE_VALUES, challenges=CHALLENGES),
    *planted("secret through links of /proc", KIND, BY_ROOT_LINKS),
    *planted("file by its handle", KIND, BY_HANDLE, signals=EITHER),
    *planted("secret through a symbolic link", KIND, BY_SYMLINK),
    *planted("secret through a hard link", KIND, BY_HARD_LINK),
    *planted("secret by raw system calls", KIND, BY_RAW_CALL, signals=EITHER, challenges=(LAYER_NORM,)),
    *planted("secret through the C library", KIND, BY_C_LIBRARY, signals=FILES),
    *planted("secret through NumPy", KIND, BY_NUMPY, signals=FILES, challenges=(LAYER_NORM,)),
    *planted("files of the system", KIND, SYSTEM_FILES, signals=FILES),
    *planted("kernel log and memory", KIND, KERNEL_LOG, signals=EITHER, challenges=(LAYER_NORM,)),
    *planted("performance counters", KIND, COUNTERS, signals=CALLS),
    *planted("physical addresses", KIND, MAPPED_PAGES),
    *planted("secret file while loading", KIND, SECRET, signals=FILES, at_import=True),
)
