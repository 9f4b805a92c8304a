"""A system call filter by allow list.

The profile "run" is for a submission (without new processes, sockets or locks), "build" for compilers and own tests
(with processes and socket pairs). A refused call fails with EPERM, or goes to the listener. An unknown number fails
with ENOSYS, so that a newer C library falls back on known calls.
"""

import ctypes
import errno
import importlib
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

# top-level modules in the box, part of a package outside
_BESIDE = f"{__package__}." if __package__ else ""
control = importlib.import_module(f"{_BESIDE}process_control")
syscalls = importlib.import_module(f"{_BESIDE}syscalls")

RUN, BUILD = "run", "build"

_ALWAYS = """
    read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close close_range
    dup dup2 dup3 pipe pipe2 sendfile copy_file_range readahead fadvise64 umask
    select pselect6 poll ppoll epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
    eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime
    stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 readlink readlinkat
    getcwd chdir fchdir getdents getdents64 creat mkdir mkdirat rmdir unlink unlinkat
    rename renameat renameat2 link linkat symlink symlinkat ftruncate fallocate fsync fdatasync sync_file_range
    getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr
    mmap munmap mremap mprotect madvise msync mincore brk mlock mlock2 munlock mlockall munlockall mseal
    mbind get_mempolicy set_mempolicy set_mempolicy_home_node pkey_alloc pkey_free pkey_mprotect map_shadow_stack
    futex futex_waitv futex_wake futex_wait futex_requeue set_robust_list set_tid_address rseq
    membarrier restart_syscall exit exit_group wait4 waitid arch_prctl getcpu sched_yield sched_getaffinity
    sched_getparam sched_getscheduler sched_getattr sched_get_priority_max sched_get_priority_min
    sched_rr_get_interval getpriority ioprio_get getrlimit setrlimit getrusage times
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack pause
    alarm setitimer getitimer timer_create timer_settime timer_gettime timer_getoverrun timer_delete
    nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time uname sysinfo getrandom
    getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups getpgid getpgrp getsid capget
    sendto sendmsg sendmmsg recvfrom recvmsg recvmmsg shutdown getsockname getpeername getsockopt
"""
_BUILDING = """
    fork vfork execve execveat setsid setpgid flock truncate
"""
_OPENING = ("open", "openat", "openat2")
_FAMILIES = {"kill": ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")}

# fcntl: copies and flags of descriptors, status flags, F_GETLK, F_OFD_GETLK, F_GETPIPE_SZ, F_GET_SEALS
_FCNTL = (0, 1, 2, 3, 4, 5, 36, 1027, 1030, 1032, 1034)
_FCNTL_LOCKS = (6, 7, 37, 38)
# ioctl: TCGETS, TCGETS2, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
_IOCTL = (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
# prctl: what asks (PDEATHSIG, DUMPABLE, KEEPCAPS, NAME, SECCOMP, CAPBSET, TSC, SECUREBITS, TIMERSLACK, MCE_KILL,
# SUBREAPER, NO_NEW_PRIVS, TID_ADDRESS, THP_DISABLE, SVE_VL, SPECULATION, TAGGED_ADDR, PAC keys, SME_VL), and setting
# NAME, TIMERSLACK, NO_NEW_PRIVS, THP_DISABLE and the names of mappings
_PRCTL = (2, 3, 7, 16, 21, 23, 25, 27, 30, 34, 37, 39, 40, 42, 51, 52, 56, 61, 64, 15, 29, 38, 41, 0x53564D41)
# effects on the caller only: setting PDEATHSIG, DUMPABLE, SUBREAPER
_PRCTL_BUILDING = (1, 4, 36)
_PERSONALITY_QUERY = 0xFFFFFFFF
_AF_UNIX, _SOCK_STREAM, _SOCK_SEQPACKET, _SOCK_TYPE_MASK = 1, 1, 5, 0xF
CLONE_THREAD = 0x10000
CLONE_NEVER = 0x7E020000 | 0x8000 | 0x2000  # every CLONE_NEW*, CLONE_PARENT, CLONE_PTRACE

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_KILL_PROCESS, _ALLOW, _ERRNO, _NOTIFY = 0x80000000, 0x7FFF0000, 0x00050000, 0x7FC00000
_LOAD, _MASK, _RETURN, _EQUAL, _AT_LEAST, _ANY_BIT = 0x20, 0x54, 0x06, 0x15, 0x35, 0x45
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

_SET_MODE_FILTER, _GET_ACTION_AVAILABLE = 1, 2
_TSYNC, _NEW_LISTENER, _TSYNC_ESRCH = 1, 8, 16

_libc = ctypes.CDLL(None, use_errno=True)
Program = list[tuple[int, int, int, int]]
"""Instructions of classic BPF: code, jump if true, jump if false, constant."""


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def available() -> bool:
    """Return whether the machine is known and the kernel has the actions in use."""
    return os.uname().machine in _ARCHITECTURES and all(_has(action) for action in (_KILL_PROCESS, _ERRNO))


def install(profile: str, *, notify: bool = False, ask_threads: bool = False, extra: Sequence[str] = ()) -> int:
    """Bind this process, its threads and its descendants to `profile`, permanently.

    Args:
        notify: true to send refused calls and file openings to the listener. Its holder must respond to each, or the
            caller waits for ever: pass it on before opening another file, and close it here before foreign code is
            loaded.
        ask_threads: true to also send the thread starts of `RUN`, with `notify`.
        extra: further calls to allow. "kill" includes all that send signals; "socket" only allows Unix sockets of
            sequenced packets.

    Returns:
        The listener's file descriptor; -1 without `notify` or kernel support.

    Raises:
        KeyError: unknown profile or system call.
        OSError: the kernel refused, or the machine is unknown.
    """
    machine = os.uname().machine
    if machine not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no table of system calls for {machine}")
    notify = notify and _has(_NOTIFY)
    count, code = _pack_filter(machine, profile, os.getpid(), notify, ask_threads, tuple(extra))
    flags = _TSYNC | (_NEW_LISTENER | _TSYNC_ESRCH if notify else 0)
    control.prctl(control.SET_NO_NEW_PRIVS, 1)
    listener = _call_seccomp(_SET_MODE_FILTER, flags, ctypes.byref(_FilterProgram(count, code)))
    # without a listener, a positive result is the id of a thread that failed to follow
    if listener < 0 or (listener and not notify):
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")
    return listener if notify else -1


def prepare(profile: str, pid: int, *, notify: bool, ask_threads: bool, extra: Sequence[str] = ()) -> None:
    """Precompute the filter for a fork with the id `pid`."""
    machine = os.uname().machine
    if machine in _ARCHITECTURES:
        _pack_filter(machine, profile, pid, notify and _has(_NOTIFY), ask_threads, tuple(extra))


@cache
def _pack_filter(
    machine: str, profile: str, pid: int, notify: bool, ask_threads: bool, extra: tuple[str, ...]
) -> tuple[int, bytes]:
    instructions = program(machine, profile, pid, notify=notify, ask_threads=ask_threads, extra=extra)
    return len(instructions), b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)


def program(
    machine: str, profile: str, pid: int, *, notify: bool, ask_threads: bool = False, extra: Sequence[str] = ()
) -> Program:
    """Return the filter of `profile` for the process `pid`.

    It has one block per range of numbers with the same result, in order; every block ends in a return.

    Raises:
        KeyError: unknown profile or system call.
    """
    numbers = syscalls.numbers(machine)
    refuse = _NOTIFY if notify else _ERRNO | errno.EPERM
    known = dict.fromkeys(numbers, _answer(refuse))
    listed = _list_blocks(profile, pid, refuse, notify, extra)
    if notify and ask_threads and profile == RUN:
        listed["clone"] = _clone(refuse, building=False, thread=_NOTIFY)
    for name, block in listed.items():
        if name in known:
            known[name] = block
    result: Program = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, _ARCHITECTURES[machine])]
    result += [*_answer(_KILL_PROCESS), (_LOAD, 0, 0, _NUMBER)]
    if machine == "x86_64":
        result += [(_AT_LEAST, 0, 1, _X32), *_answer(_KILL_PROCESS)]
    for end, block in _runs({numbers[name]: block for name, block in known.items()}):
        result += [(_AT_LEAST, len(block), 0, end), *block]
    return result + _answer(_ERRNO | errno.ENOSYS)


def _list_blocks(profile: str, pid: int, refuse: int, notify: bool, extra: Sequence[str]) -> dict[str, Program]:
    building = {RUN: False, BUILD: True}[profile]
    blocks = dict.fromkeys((_ALWAYS + (_BUILDING if building else "")).split(), _answer(_ALLOW))
    blocks |= dict.fromkeys(_OPENING, _answer(_NOTIFY if notify else _ALLOW))
    blocks["clone3"] = _answer(_ERRNO | errno.ENOSYS)  # its flags are in memory, which a filter cannot read
    blocks["clone"] = _clone(refuse, building)
    blocks["fcntl"] = _allow_among(1, (*_FCNTL, *(_FCNTL_LOCKS if building else ())), refuse)
    blocks["ioctl"] = _allow_among(1, _IOCTL, refuse)
    blocks["prctl"] = _allow_among(0, (*_PRCTL, *(_PRCTL_BUILDING if building else ())), refuse)
    blocks["personality"] = _allow_among(0, (_PERSONALITY_QUERY,), refuse)
    # a forked child has another id: it gets its own limits by id 0, and needs "kill" to send signals
    blocks["prlimit64"] = _allow_among(0, (0, pid), refuse)
    blocks["tgkill"] = blocks["rt_tgsigqueueinfo"] = _allow_among(0, (pid,), refuse)
    if building:
        # connected ones only: a datagram socket, even paired, can send each message to another address
        blocks["socketpair"] = _allow_sockets((_SOCK_STREAM, _SOCK_SEQPACKET), refuse)
    for name in (one for family in extra for one in _FAMILIES.get(family, (family,))):
        if not any(name in syscalls.numbers(machine) for machine in _ARCHITECTURES):
            raise KeyError(f"no system call is named {name!r}")
        # sockets of sequenced packets reach no peer without `connect`
        blocks[name] = _allow_sockets((_SOCK_SEQPACKET,), refuse) if name == "socket" else _answer(_ALLOW)
    return blocks


def _answer(action: int) -> Program:
    return [(_RETURN, 0, 0, action)]


def _load_argument(index: int) -> tuple[int, int, int, int]:
    """Load an argument's low half, all that the kernel reads here."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index)


def _allow_among(index: int, values: Sequence[int], refuse: int) -> Program:
    tests = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [_load_argument(index), *tests, *_answer(refuse), *_answer(_ALLOW)]


def _clone(refuse: int, building: bool, thread: int = _ALLOW) -> Program:
    if building:
        return [_load_argument(0), (_ANY_BIT, 0, 1, CLONE_NEVER), *_answer(refuse), *_answer(_ALLOW)]
    tests = [_load_argument(0), (_ANY_BIT, 1, 0, CLONE_NEVER), (_ANY_BIT, 1, 0, CLONE_THREAD)]
    return [*tests, *_answer(refuse), *_answer(thread)]


def _allow_sockets(kinds: Sequence[int], refuse: int) -> Program:
    load, *tests = _allow_among(1, kinds, refuse)
    return [_load_argument(0), (_EQUAL, 0, 2 + len(kinds), _AF_UNIX), load, (_MASK, 0, 0, _SOCK_TYPE_MASK), *tests]


def _runs(blocks: Mapping[int, Program]) -> Iterable[tuple[int, Program]]:
    unknown = _answer(_ERRNO | errno.ENOSYS)
    last = max(blocks)
    for number in range(last + 1):
        block = blocks.get(number, unknown)
        if number == last or blocks.get(number + 1, unknown) != block:
            yield number + 1, block


def _has(action: int) -> bool:
    return _call_seccomp(_GET_ACTION_AVAILABLE, 0, ctypes.byref(ctypes.c_uint32(action))) == 0


def _call_seccomp(operation: int, flags: int, argument: object) -> int:
    number = syscalls.numbers(os.uname().machine)["seccomp"]
    return int(_libc.syscall(number, operation, flags, argument))
