"""The self-attack's submission: each function tries one harmless way out of the box.

A function that the box stops raises.
"""

import ctypes
import os
import socket
import sys
import threading

PTRACE_SEIZE = 0x4206
DESCRIPTORS = 256
SECONDS = 1.0


def read(path: str, parent: int) -> str:
    """Read a file outside, by path or through the parent's root."""
    for name in (path, f"/proc/{parent}/root{path}"):
        try:
            with open(name, encoding="ascii") as file:
                return file.read()
        except OSError as error:
            last = error
    raise last


def write(path: str, text: str) -> str:
    """Change a file outside the box."""
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return "written"


def plant(name: str) -> str:
    """Add a file to the submission's own folder."""
    return write(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), "planted")


def connect_tcp(port: int) -> str:
    """Connect to a TCP port of the machine."""
    socket.create_connection(("127.0.0.1", port), SECONDS).close()
    return "connected"


def connect_abstract(name: str) -> str:
    """Connect to an abstract Unix socket."""
    return _connect(f"\0{name}")


def connect_path(folder: str, name: str) -> str:
    """Connect to a Unix socket with a path."""
    here = os.getcwd()
    os.chdir(folder)  # the whole path may be longer than an address can be
    try:
        return _connect(name)
    finally:
        os.chdir(here)


def _connect(address: str) -> str:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(SECONDS)
        client.connect(address)
    return "connected"


def signal_parent(parent: int) -> str:
    """Send the grader signal 0, a test for permission."""
    os.kill(parent, 0)
    return "could have been killed"


def trace_parent(parent: int) -> str:
    """Attach to the grader with ptrace; the thread's end detaches it in time."""
    results = []
    libc = ctypes.CDLL(None, use_errno=True)

    def seize() -> None:
        results.append((libc.ptrace(PTRACE_SEIZE, parent, None, None), ctypes.get_errno()))

    thread = threading.Thread(target=seize)
    thread.start()
    thread.join()
    result, error = results[0]
    if result != 0:
        raise OSError(error, os.strerror(error))
    return "traced"


def open_memory(parent: int) -> str:
    """Open the grader's memory."""
    with open(f"/proc/{parent}/mem", "rb"):
        return "opened"


def fork() -> str:
    """Start another process."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return "forked"


def memory_file() -> str:
    """Create a memory file, which no process limit counts."""
    os.close(os.memfd_create("attack"))
    return "made"


def environment() -> str:
    """Return the environment."""
    return "\n".join(os.environ.values())


def descriptors() -> str:
    """Read from all descriptors beyond the standard ones."""
    found = []
    for fd in range(3, DESCRIPTORS):
        try:
            found.append(os.pread(fd, 64, 0).decode("ascii", "replace"))
        except OSError:
            continue
    return "\n".join(found)


def execute(text: str) -> None:
    """Become another program, which prints `text`."""
    for program, *words in (("/bin/sh", "-c", f"echo {text}"), (sys.executable, "-I", "-S", "-c", f"print({text!r})")):
        try:
            os.execv(program, [program, *words])
        except FileNotFoundError as error:
            missing = error
    raise missing
