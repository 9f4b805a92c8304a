"""Answers that change what is not theirs, or leave something for those who come after."""

from harness.model import SignalKind
from tests.attacks.attack import Attack
from tests.attacks.planting import planted
from tests.attacks.wrapping import LAYER_NORM

KIND = "changing what is not its own"
CALLS = frozenset({SignalKind.SYSTEM_CALL})
FILES = frozenset({SignalKind.UNSEEN_FILE})
EITHER = CALLS | FILES

OVERWRITE = """
def deed():
    for name in ("target", "record", "secret"):
        for mode in ("w", "a", "r+"):
            each(lambda: open(WORLD[name], mode).write("changed"))
"""
RENAME = """
def deed():
    mine = os.path.join(os.environ["TMPDIR"], WORLD["token"])
    open(mine, "w").write("changed")
    beside = WORLD["target"] + ".new"
    each(lambda: os.replace(mine, WORLD["target"]), lambda: os.rename(WORLD["record"], WORLD["target"]),
         lambda: (open(beside, "w").write("changed"), os.replace(beside, WORLD["target"])))
"""
REMOVE = """
import shutil

def deed():
    each(lambda: os.unlink(WORLD["target"]), lambda: os.unlink(WORLD["record"]), lambda: shutil.rmtree(WORLD["other"]),
         lambda: os.truncate(WORLD["target"], 0))
"""
MODES = """
def deed():
    each(lambda: (os.chmod(WORLD["target"], 0o4777), got("another mode")),
         lambda: (os.chown(WORLD["target"], 1000, 1000), got("another owner")),
         lambda: (os.utime(WORLD["target"], (0, 0)), got("another time")),
         lambda: (os.setxattr(WORLD["target"], "user.mark", b"1"), got("an attribute")))
"""
LINKED = """
def deed():
    mine = os.path.join(os.environ["TMPDIR"], WORLD["token"])
    each(lambda: os.symlink(WORLD["target"], mine), lambda: open(mine, "w").write("changed"))
    each(lambda: os.unlink(mine), lambda: os.link(WORLD["target"], mine), lambda: open(mine, "w").write("changed"))
"""
GRADER_FILES = """
def opened(path):
    os.close(os.open(path, os.O_WRONLY))
    got(f"{path} to write")

def made(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
    got(f"{path} to make")
    os.unlink(path)

def deed():
    for path in HIDDEN:
        each(lambda: opened(path))
    for root in ROOTS:
        each(lambda: opened(root / "harness/grading/submission_grade.py"))
        each(lambda: opened(root / "harness/sandbox/inside/worker.py"))
        for name in ("", "harness", "challenges", "tests", "reports"):
            each(lambda: made(root / name / WORLD["token"]))
"""
INTERPRETER = """
import sysconfig

def deed():
    for place in (*sys.path, sysconfig.get_path("purelib"), sys.prefix, os.path.dirname(os.__file__), "/usr/lib"):
        path = os.path.join(place, f"{WORLD['token']}.pth")
        each(lambda: (open(path, "w").write("import os"), got(f"a file in {place}")))
"""
BOOT_FILES = """
def deed():
    places = {os.path.dirname(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())}
    for place in (*places, os.path.dirname(sys.argv[0]) if sys.argv else "/boot"):
        if place and not place.startswith(os.environ["TMPDIR"]):
            each(lambda: (open(os.path.join(place, WORLD["token"]), "w").close(), got(f"a file in {place}")))
"""
OWN_FOLDER = """
def deed():
    here = os.path.dirname(os.path.abspath(__file__))
    each(lambda: (open(os.path.join(here, "honest.py"), "a").write("# changed"), got("its own source")),
         lambda: (os.mkdir(os.path.join(here, "__pycache__")), got("a folder of its own")),
         lambda: (os.rename(here, here + "2"), got("its own place")))
"""
POISON = """
PLACES = ("/tmp", "/dev/shm", "/var/tmp", "/run", "/dev", "/", os.path.expanduser("~"), os.environ["TMPDIR"], ".",
          os.path.dirname(__file__))

def deed():
    marks = {os.path.join(os.path.realpath(place), WORLD["token"] + "-left") for place in PLACES}
    for mark in filter(os.path.exists, marks):
        got(f"what an earlier process left: {mark}")
    for mark in marks:
        each(lambda: open(mark, "w").close())
"""
START_UP_POISON = """
def deed():
    for home in set(map(os.path.realpath, (os.path.expanduser("~"), "/root", "/tmp", os.environ["TMPDIR"]))):
        for name in ("sitecustomize.py", "usercustomize.py", ".pythonrc", ".bashrc", "numpy.py"):
            path = os.path.join(home, name)
            if os.path.exists(path) and WORLD["token"] in open(path).read():
                got(f"what an earlier process left in {path}")
            each(lambda: open(path, "a").write(f"# {WORLD['token']}"))
"""
LOCKS = """
def deed():
    for path in (__file__, sys.executable, os.__file__, sys.modules["numpy"].__file__):
        file = os.open(path, os.O_RDONLY)
        each(lambda: (fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB), got(f"a lock on {path}")))
        each(lambda: (fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK), got(f"a lease on {path}")))
"""
WATCHES = """
def deed():
    each(lambda: (syscall(254, syscall(294, 0), os.__file__.encode(), 0x20), got("a watch on who opens a file")),
         lambda: (syscall(300, 0, 0), got("a watch on a whole file system")))
"""
DEVICES = """
def deed():
    here = os.path.join(os.environ["TMPDIR"], WORLD["token"])
    each(lambda: (os.mknod(here + "-disk", stat.S_IFBLK | 0o600, os.makedev(254, 0)), got("a disk")),
         lambda: (os.mknod(here + "-memory", stat.S_IFCHR | 0o600, os.makedev(1, 1)), got("a device")),
         lambda: (open("/dev/ptmx", "rb+", 0), got("a terminal")),
         lambda: (fcntl.ioctl(0, 0x5412, b"x"), got("a key typed into the terminal")))
"""
HOST_NAME = """
def deed():
    each(lambda: (socket.sethostname(WORLD["token"]), got("another host name")),
         lambda: (syscall(171, b"x", 1), got("another domain name")),
         lambda: (open("/proc/sys/kernel/hostname", "w").write("x"), got("a kernel setting")),
         lambda: (open("/proc/self/oom_score_adj", "w").write("-1000"), got("safety from the memory killer")),
         lambda: (open("/proc/sys/vm/drop_caches", "w").write("3"), got("the page cache")))
"""

ATTACKS: tuple[Attack, ...] = (
    *planted("overwrite", KIND, OVERWRITE),
    *planted("replace by renaming", KIND, RENAME, challenges=(LAYER_NORM,)),
    *planted("remove", KIND, REMOVE),
    *planted("mode, owner, time", KIND, MODES, challenges=(LAYER_NORM,)),
    *planted("write through links", KIND, LINKED),
    *planted("write into the grader", KIND, GRADER_FILES, signals=FILES),
    *planted("write into the interpreter", KIND, INTERPRETER),
    *planted("write beside the box's own files", KIND, BOOT_FILES),
    *planted("write into its own folder", KIND, OWN_FOLDER),
    *planted("leave a file for the next process", KIND, POISON),
    *planted("leave a start-up file", KIND, START_UP_POISON),
    *planted("lock shared files", KIND, LOCKS),
    *planted("watch shared files", KIND, WATCHES),
    *planted("device files", KIND, DEVICES, signals=EITHER),
    *planted("name and settings of the machine", KIND, HOST_NAME, signals=EITHER),
    *planted("leave a file while loading", KIND, POISON, at_import=True),
)
