"""Answers that try to talk to somebody: over the network, to this machine's programs, to a later answer."""

from harness.model import SignalKind
from tests.attacks.attack import Attack
from tests.attacks.planting import planted
from tests.attacks.wrapping import LAYER_NORM

KIND = "talking to the outside"
CALLS = frozenset({SignalKind.SYSTEM_CALL})

TCP = """
def deed():
    with socket.create_connection(("127.0.0.1", WORLD["tcp"]), 1):
        got("a connection")
"""
UDP = """
def deed():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hello", ("127.0.0.1", WORLD["udp"]))
"""
DOWNLOAD = """
import urllib.request

def deed():
    got(urllib.request.urlopen(f"http://localhost:{WORLD['tcp']}/", timeout=1).read())
"""
ABSTRACT = """
def deed():
    socket.socket(socket.AF_UNIX).connect("\\0" + WORLD["abstract"])
    got("a connection")
"""
PATH = """
def deed():
    for place in ("", "/proc/1/root", "/proc/self/root"):
        each(lambda: (socket.socket(socket.AF_UNIX).connect(place + WORLD["unix"]), got("a connection")))
"""
SERVER = """
def deed():
    server = socket.socket(socket.AF_INET)
    server.bind(("0.0.0.0", 0))
    server.listen()
    got("a server")
"""
NETLINK = """
def deed():
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    link.bind((0, 0))
    got("a talk with the kernel's network")
"""
MACHINE_SOCKET = """
def deed():
    socket.socket(40, socket.SOCK_STREAM)
    got("a socket to the machine's host")
"""
RAW = """
def deed():
    for family, kind, protocol in ((socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_PACKET, socket.SOCK_RAW, 3),
                                   (38, socket.SOCK_SEQPACKET, 0)):
        each(lambda: (socket.socket(family, kind, protocol), got("a raw socket")))
"""
RING = """
def deed():
    ring = syscall(425, 8, ctypes.create_string_buffer(256))
    got("a ring that makes system calls unseen")
"""
KEYRING = """
def deed():
    name = WORLD["token"].encode()
    for ring in (-3, -4, -5):
        try:
            key = syscall(250, 10, ring, b"user", name, 0)
            got("what an earlier process left in a keyring")
        except OSError:
            each(lambda: (syscall(248, b"user", name, b"mark", 4, ring), got("a key")))
"""
SHARED_SEGMENT = """
def deed():
    key = sum(WORLD["token"].encode())
    try:
        syscall(29, key, 4096, 0)
        got("what an earlier process left in shared memory")
    except OSError:
        syscall(29, key, 4096, 0o1666)
        got("a shared segment")
"""
QUEUES = """
def deed():
    key = sum(WORLD["token"].encode())
    each(lambda: (syscall(68, key, 0o1666), got("a message queue")),
         lambda: (syscall(64, key, 1, 0o1666), got("a semaphore")),
         lambda: (syscall(240, b"/" + WORLD["token"].encode(), 0o102, 0o666, 0), got("a named queue")))
"""
FAULT_HANDLER = """
def deed():
    syscall(323, os.O_CLOEXEC)
    got("its own handling of page faults")
"""
KERNEL_PROGRAM = """
def deed():
    room = ctypes.create_string_buffer(128)
    struct.pack_into("IIII", room, 0, 2, 4, 8, 1)
    syscall(321, 0, room, 128)
    got("a map in the kernel")
"""
OWN_FILTER = """
def deed():
    allow = struct.pack("HBBI", 6, 0, 0, 0x7fff0000)
    held = ctypes.create_string_buffer(allow)
    program = struct.pack("HxxxxxxP", 1, ctypes.addressof(held))
    each(lambda: (syscall(317, 1, 0, program), got("a filter of its own")),
         lambda: (syscall(157, 22, 2, program), got("a filter of its own")),
         lambda: (syscall(317, 1, 8, program), got("a listener to its own system calls")))
"""
OLD_NUMBERS = """
def deed():
    syscall(0x40000000 | 41, socket.AF_UNIX, socket.SOCK_STREAM, 0)
    got("a system call by a number of another kind")
"""
PORTS = """
def deed():
    each(lambda: (syscall(172, 3), got("the machine's ports")),
         lambda: (syscall(173, 0x70, 2, 1), got("the machine's ports")))
"""
INSTALL = """
def deed():
    import runpy
    index = f"http://127.0.0.1:{WORLD['tcp']}"
    sys.argv = ["pip", "install", "--retries", "0", "--target", os.environ["TMPDIR"], "--index-url", index, "x"]
    try:
        runpy.run_module("pip", run_name="__main__")
    except SystemExit as end:
        if end.code == 0:
            got("a package")
"""

ATTACKS: tuple[Attack, ...] = (
    *planted("connect by TCP", KIND, TCP, signals=CALLS),
    *planted("send by UDP", KIND, UDP, signals=CALLS, challenges=(LAYER_NORM,)),
    *planted("download", KIND, DOWNLOAD, signals=CALLS),
    *planted("abstract socket", KIND, ABSTRACT, signals=CALLS),
    *planted("socket by its path", KIND, PATH, signals=CALLS),
    *planted("server", KIND, SERVER, signals=CALLS),
    *planted("netlink", KIND, NETLINK, signals=CALLS, challenges=(LAYER_NORM,)),
    *planted("socket of the virtual machine", KIND, MACHINE_SOCKET, signals=CALLS),
    *planted("raw sockets", KIND, RAW, signals=CALLS),
    *planted("ring of system calls", KIND, RING, signals=CALLS),
    *planted("keyrings", KIND, KEYRING, signals=CALLS),
    *planted("shared segment", KIND, SHARED_SEGMENT, signals=CALLS),
    *planted("message queues", KIND, QUEUES, signals=CALLS),
    *planted("handler of page faults", KIND, FAULT_HANDLER, signals=CALLS),
    *planted("program in the kernel", KIND, KERNEL_PROGRAM, signals=CALLS),
    *planted("filter of its own", KIND, OWN_FILTER, signals=CALLS, challenges=(LAYER_NORM,)),
    *planted("numbers of another kind", KIND, OLD_NUMBERS),
    *planted("ports of the machine", KIND, PORTS, signals=CALLS),
    *planted("install a package", KIND, INSTALL, challenges=(LAYER_NORM,)),
)
