"""How strongly an answer is held: what each tier promises, and what it does not hold."""

from enum import StrEnum


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
    def trusted(self) -> bool:
        """Whether the tier holds hostile code, so that its grades can be trusted."""
        return self is not Tier.UNSAFE

    @property
    def promise(self) -> str:
        """What the tier holds, in a sentence."""
        return _PROMISES[self]

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What the tier does not hold, a sentence each."""
        return _WEAKNESSES[self]

    @property
    def caution(self) -> str:
        """What every report of a grade made in the tier must say; empty where nothing needs to be said."""
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
