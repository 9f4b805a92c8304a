"""A system call is refused unless a profile lists it, whatever its number and however it is made."""

import os
import re
import signal
from pathlib import Path

import pytest

from harness.sandbox.inside import seccomp, syscalls
from tests.sandbox import fenced

pytestmark = fenced.needs_seccomp

NEVER = """
    socket bind connect listen accept accept4 setsockopt
    ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp
    kill tkill rt_sigqueueinfo pidfd_open pidfd_getfd pidfd_send_signal
    unshare setns mount umount2 pivot_root chroot move_mount fsopen fsmount fspick open_tree mount_setattr
    init_module finit_module delete_module kexec_load reboot swapon swapoff acct quotactl syslog
    settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname vhangup
    seccomp bpf perf_event_open userfaultfd memfd_create memfd_secret
    io_uring_setup io_uring_enter io_uring_register io_setup io_submit
    add_key request_key keyctl shmget shmat shmctl semget semop semctl msgget msgsnd msgrcv msgctl
    mq_open mq_unlink mq_notify
    name_to_handle_at open_by_handle_at fanotify_init inotify_init1 inotify_add_watch
    sched_setaffinity sched_setscheduler sched_setparam sched_setattr setpriority ioprio_set
    migrate_pages move_pages setuid setgid setresuid setresgid setgroups setfsuid capset
    setxattr fsetxattr removexattr fchown fchownat mknodat splice vmsplice tee sync syncfs
    landlock_create_ruleset listmount statmount get_robust_list
""".split()  # noqa: SIM905
NOT_IN_A_RUN = """
    execve execveat flock truncate setsid setpgid socketpair
""".split()  # noqa: SIM905
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
# names the generic header has for calls of 32-bit machines, or under another spelling
SPELLED_OTHERWISE = re.compile(
    r"64$|^llseek$|^mmap2$|^arch_specific_syscall$|^syscalls$|^(sync_file_range2|fstat|newfstatat)$"
)


@pytest.mark.parametrize("machine", HEADERS)
def test_our_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    header = HEADERS[machine]
    if not header.exists():
        pytest.skip(f"no {header}: install the kernel's headers to compare")
    stated = dict(re.findall(r"^#define __NR_(\w+) (\d+)$", header.read_text(), re.M))
    ours = syscalls.numbers(machine)
    compared = {name: int(number) for name, number in stated.items() if not SPELLED_OTHERWISE.search(name)}
    assert len(compared) > 280
    assert {name: ours.get(name) for name in compared} == compared
    # where the generic header gives one number two names, ours is the 64-bit one
    both = dict(re.findall(r"^#define __NR3264_(\w+) (\d+)$", header.read_text(), re.M))
    renamed = {"fstatat": "newfstatat"}
    assert {name: ours[renamed.get(name, name)] for name in both} == {name: int(n) for name, n in both.items()}


@pytest.mark.parametrize("profile", [seccomp.RUN, seccomp.BUILD])
def test_what_no_profile_lists_is_refused(profile: str) -> None:
    names = NEVER + (NOT_IN_A_RUN if profile == seccomp.RUN else [])
    # nonsense for arguments: a call that got past the filter would fail in another way, and do no harm
    body = "tell({name: attempt(call, name, -1, -1, -1, -1, -1, -1) for name in WORLD['names']})"
    said = fenced.run(body, fenced.plan(profile, landlock=None), {"names": names})
    assert said == dict.fromkeys(names, "EPERM")


def test_what_is_refused_would_not_be_without_the_filter() -> None:
    tame = [n for n in NEVER if not re.match(r"reboot|vhangup|sync|kill|.*init_module|setu|setg|setres|setfs|acct", n)]
    body = "tell({name: attempt(call, name, -1, -1, -1, -1, -1, -1) for name in WORLD['names']})"
    said = fenced.run(body, None, {"names": tame})
    assert sum(answer != "EPERM" for answer in said.values()) > len(tame) * 0.75


@pytest.mark.parametrize("profile", [seccomp.RUN, seccomp.BUILD])
def test_a_call_newer_than_our_table_is_not_there(profile: str) -> None:
    """A list of forbidden numbers grows old with the next kernel; a list of permitted ones does not."""
    numbers = [399, 480, 511, 600, 4096]
    said = fenced.run(
        "tell([attempt(call, n, 0, 0, 0) for n in WORLD['numbers']])", fenced.plan(profile), {"numbers": numbers}
    )
    assert said == ["ENOSYS"] * len(numbers)


@pytest.mark.parametrize("profile", [seccomp.RUN, seccomp.BUILD])
def test_the_newer_clone_is_not_there_so_that_the_older_can_be_looked_into(profile: str) -> None:
    assert fenced.run("tell(attempt(call, 'clone3', 0, 0))", fenced.plan(profile)) == "ENOSYS"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="not an x86-64 machine")
@pytest.mark.parametrize(
    "body",
    [
        pytest.param("call(0x40000000 + NUMBERS['getpid'])", id="x32"),
        pytest.param(
            """
            page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
            page.write(bytes.fromhex("b814000000 cd80 c3"))  # mov eax, 20 (getpid); int 0x80; ret
            ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
            """,
            id="32-bit gate",
        ),
    ],
)
def test_a_call_by_another_architectures_door_ends_the_process(body: str) -> None:
    assert fenced.finish(fenced.command(body, fenced.plan())).returncode == -signal.SIGSYS


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("profile", [seccomp.RUN, seccomp.BUILD])
def test_the_programs_for_all_machines_lead_every_path_to_an_answer(machine: str, profile: str) -> None:
    program = seccomp.program(machine, profile, 7, notify=True, ask_threads=True)
    returns, jumps = 0x06, (0x15, 0x35, 0x45)
    assert program[-1][0] == returns
    assert len(program) < 4096  # the kernel's own bound
    for at, (code, yes, no, _) in enumerate(program):
        if code in jumps:
            assert at + 1 + max(yes, no) < len(program)
            assert max(yes, no) < 256


def judged(machine: str, profile: str, name: str | int, arguments: tuple[int, ...] = (), architecture: int = 0) -> int:
    """What a program answers, worked out by the rules of the packet filter instead of by a kernel."""
    number = syscalls.numbers(machine)[name] if isinstance(name, str) else name
    words = {0: number, 4: architecture or seccomp._ARCHITECTURES[machine]}
    words |= {16 + 8 * index: value for index, value in enumerate((*arguments, *(0,) * 6)[:6])}
    program, at, held = seccomp.program(machine, profile, 7, notify=False), 0, 0
    tests = {0x15: int.__eq__, 0x35: int.__ge__, 0x45: lambda held, bits: held & bits != 0}
    while program[at][0] != 0x06:
        code, yes, no, constant = program[at]
        if code in tests:
            at += yes if tests[code](held, constant) else no
        else:
            held = words[constant] if code == 0x20 else held & constant
        at += 1
    return program[at][3]


@pytest.mark.parametrize("profile", [seccomp.RUN, seccomp.BUILD])
@pytest.mark.parametrize("arguments", [(0,) * 6, (7, 1, 4), (0x10000, 37), (1, 0x5401), (0x10000 | 0x20000, 1)])
def test_both_machines_give_the_same_answers(profile: str, arguments: tuple[int, ...]) -> None:
    """A test runs on one kind of machine: the other's program is worked out instead."""
    shared = syscalls.numbers("x86_64").keys() & syscalls.numbers("aarch64").keys()
    answers = {machine: {name: judged(machine, profile, name, arguments) for name in shared} for machine in HEADERS}
    assert len(shared) > 300
    assert answers["x86_64"] == answers["aarch64"]
    assert {answer & 0xFFFF0000 for answer in answers["aarch64"].values()} == {0x7FFF0000, 0x00050000}


@pytest.mark.parametrize("machine", HEADERS)
def test_no_program_takes_another_machines_numbers(machine: str) -> None:
    foreign = {0x40000003, 0x40000028, *seccomp._ARCHITECTURES.values()} - {seccomp._ARCHITECTURES[machine]}
    for architecture in foreign:  # 32-bit x86, 32-bit ARM, and each other
        assert judged(machine, seccomp.RUN, "getpid", architecture=architecture) == 0x80000000
    assert judged(machine, seccomp.RUN, "getpid") == 0x7FFF0000


def test_a_profile_or_call_that_does_not_exist_is_named() -> None:
    with pytest.raises(KeyError, match="relaxed"):
        seccomp.program("x86_64", "relaxed", 7, notify=False)
    with pytest.raises(KeyError, match="fly"):
        seccomp.program("x86_64", seccomp.RUN, 7, notify=False, extra=("fly",))
