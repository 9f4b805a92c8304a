"""Isolation tiers: their promises and their weaknesses."""

from enum import StrEnum


class Tier(StrEnum):
    """An isolation tier, strongest first."""

    A = "A"
    """Root: namespaces, own user id, cgroup, Landlock, system call filter, limits."""
    B = "B"
    """The same without a cgroup; an ordinary user gets the namespaces through a user namespace."""
    C = "C"
    """Landlock, system call filter and limits, without namespaces."""
    UNSAFE = "unsafe"
    """A separate process with limits only: no protection against hostile code."""

    @property
    def trusted(self) -> bool:
        """True if the tier confines hostile code, so that its grades can be trusted."""
        return self is not Tier.UNSAFE

    @property
    def promise(self) -> str:
        """Confinement, as a sentence."""
        return _PROMISES[self]

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """Gaps, a sentence each."""
        return _WEAKNESSES[self]

    @property
    def caution(self) -> str:
        """Required note in every report of a grade in the tier, or empty."""
        return _CAUTIONS.get(self, "")


_FENCE = "Landlock, an allow list of system calls, limited memory and time"
_KERNEL = "a fault of the kernel itself opens the box"
_BOUNDED = "memory is bounded for each process and not for all together"

_PROMISES = {
    Tier.A: f"namespaces, a user id of its own, a cgroup, {_FENCE}",
    Tier.B: f"namespaces, {_FENCE}",
    Tier.C: _FENCE,
    Tier.UNSAFE: "limited memory and time only: files, network and other processes are within its reach",
}
_WEAKNESSES = {
    Tier.A: (_KERNEL,),
    Tier.B: (_KERNEL, _BOUNDED),
    Tier.C: (
        _KERNEL,
        _BOUNDED,
        "an answer learns whether a path exists and how large a file is, though not what it holds",
        "its own tests and compilers see the machine's other processes, though they cannot touch them",
        "scratch space, threads and processes are counted from outside, twenty times a second",
    ),
    Tier.UNSAFE: ("everything the user may do, the answer may do",),
}
_CAUTIONS = {
    Tier.C: f"graded in tier C: {_FENCE}",
    Tier.UNSAFE: "not to be trusted: graded without isolation, where an answer may have forged anything, this included",
}
