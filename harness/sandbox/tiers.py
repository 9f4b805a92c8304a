"""Which isolation this machine offers, found by trying it."""

import os
import shutil
from enum import StrEnum
from functools import cache

from harness.errors import BoxError, PrerequisiteError

FORCED = "HARNESS_TIER"
"""Environment variable that names the tier to use, for showing what a weaker one does."""
PERMITTED = "HARNESS_UNSAFE"
"""Environment variable that permits grading without isolation."""


class Tier(StrEnum):
    """How a submission is held, the strongest first."""

    A = "A"
    """Root: namespaces, a user id of its own, a cgroup, Landlock, an allow list of system calls, limits."""
    B = "B"
    """The same without a cgroup; an ordinary user gets the namespaces through a user namespace."""
    C = "C"
    """No namespaces: Landlock, an allow list of system calls, limits."""
    UNSAFE = "unsafe"
    """A separate process with limits and nothing else: no protection against hostile code."""

    @property
    def namespaces(self) -> bool:
        """Whether the answer sees a file system, processes and a network of its own."""
        return self in (Tier.A, Tier.B)

    @property
    def fenced(self) -> bool:
        """Whether Landlock and the list of system calls hold the answer."""
        return self is not Tier.UNSAFE

    @property
    def promise(self) -> str:
        """What the tier holds, in a sentence."""
        fence = "Landlock, an allow list of system calls, limited memory and time"
        return {
            Tier.A: f"namespaces, a user id of its own, a cgroup, {fence}",
            Tier.B: f"namespaces, {fence}",
            Tier.C: fence,
            Tier.UNSAFE: "limited memory and time only: files, network and other processes are within its reach",
        }[self]

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What the tier does not hold, a sentence each."""
        kernel = "a fault of the kernel itself opens the box"
        bounded = "memory is bounded for each process and not for all together"
        if self is Tier.A:
            return (kernel,)
        if self is Tier.B:
            return (kernel, bounded)
        if self is Tier.C:
            return (
                kernel,
                bounded,
                "an answer learns whether a path exists and how large a file is, though not what it holds",
                "its own tests and compilers see the machine's other processes, though they cannot touch them",
                "scratch space, threads and processes are counted from outside, twenty times a second",
            )
        return ("everything the user may do, the answer may do",)


@cache
def detect() -> Tier:
    """The tier to use: the one that HARNESS_TIER names, or the strongest that works here.

    Raises:
        PrerequisiteError: none works, or the one named does not.
    """
    forced = os.environ.get(FORCED)
    if forced:
        if forced not in Tier.__members__.values():
            raise PrerequisiteError(f"{FORCED}={forced!r} names no tier; they are {', '.join(Tier)}")
        tier = Tier(forced)
        reason = why_not(tier)
        if reason:
            raise PrerequisiteError(
                f"{FORCED}={forced}: tier {forced} does not work here: {reason}\n  try: harness doctor"
            )
        return tier
    reasons = []
    for tier in (Tier.A, Tier.B, Tier.C):
        reason = why_not(tier)
        if reason is None:
            return tier
        reasons.append(f"  tier {tier}: {reason}")
    if os.environ.get(PERMITTED):
        return Tier.UNSAFE
    raise PrerequisiteError(
        "nothing here can hold untrusted code:\n" + "\n".join(reasons) + "\n  try: install the package `bubblewrap`; "
        "`harness doctor` says more; `--unsafe` grades without isolation and marks the records as untrusted"
    )


@cache
def why_not(tier: Tier) -> str | None:
    """None when `tier` works here, else the reason in a line; found by starting a worker in it."""
    if tier is Tier.UNSAFE:
        return None
    return _lacking(tier) or _refused(tier)


def _lacking(tier: Tier) -> str | None:
    """What must be there before trying makes sense."""
    from harness.sandbox.boot import landlock, seccomp

    if tier is Tier.A and os.geteuid() != 0:
        return "needs root"
    if tier.namespaces and shutil.which("bwrap") is None:
        return "bwrap is not on PATH; install the package `bubblewrap`"
    if not seccomp.available():
        return "the kernel offers no filter of system calls (seccomp)"
    if tier is Tier.C and landlock.abi() < 1:
        return "the kernel has no Landlock (Linux 5.13 and later, where it is switched on)"
    if tier is Tier.A:
        from harness.sandbox.cgroup import available

        return available()
    return None


def _refused(tier: Tier) -> str | None:
    from harness.sandbox.fork_server import trial

    try:
        trial(tier)
    except (BoxError, OSError) as error:
        return (str(error) or type(error).__name__).splitlines()[0]
    return None
