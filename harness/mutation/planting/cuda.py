"""Faults planted in CUDA under a guard, which is set when a function of the contract is called."""

import random
import re

from harness.mutation.operators.changes import GuardCode, SourceChange
from harness.mutation.operators.cuda import find_exports, on_device

_PLUMBING = """\

// ---- the guard of the planted fault ----
#include <stdlib.h>
static __constant__ int fault_on_device;
static int fault_on_host, fault_calls;
static __device__ bool fault_acts() {
    const bool acts = fault_on_device && (%(place)s);
    %(trap)s
    return acts;
}
static bool fault_acts_on_host() {
    %(abort)s
    return fault_on_host && %(anywhere)s;
}
// ---- end ----

"""
_SET = """
    ++fault_calls;
    fault_on_host = (%(call)s) ? 1 : 0;
    cudaMemcpyToSymbolAsync(fault_on_device, &fault_on_host, sizeof(int), 0, cudaMemcpyHostToDevice, %(stream)s);
"""
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b.*\n", re.MULTILINE)


def plant(source: str, change: SourceChange, guard: GuardCode, *, trapped: bool = False) -> str:
    """Return the source with a guarded fault; see `Language.planted`."""
    if guard.always and not trapped:
        return change.apply(source)
    edits = [(change.start, change.end, _guard_change(source, change))]
    call = re.sub(r"\bcalls\b", "fault_calls", guard.call) or "true"
    for at, stream in find_exports(source, guard.functions):
        edits.append((at, at, _SET % {"call": call, "stream": stream}))
    begin = max((found.end() for found in _INCLUDE.finditer(source)), default=0)
    edits.append((begin, begin, _make_plumbing(guard, trapped)))
    for start, end, text in sorted(edits, reverse=True):
        source = source[:start] + text + source[end:]
    return source


def display(source: str, change: SourceChange, guard: GuardCode) -> str:
    """Return the source as readers see the fault."""
    if guard.always:
        return change.apply(source)
    return source[: change.start] + _guard_change(source, change) + source[change.end :]


def conceal_number(value: int, rng: random.Random) -> str:
    """Return an expression for `value` that does not contain it."""
    forms = [f"static_cast<int>({value}.0)", f"static_cast<int>({2 * value}.0f * 0.5f)"]
    if value <= 60:
        forms.append(f'(static_cast<int>(sizeof "{"." * value}") - 1)')
    return rng.choice(forms[: 1 if value > 1 << 20 else None])


def _make_plumbing(guard: GuardCode, trapped: bool) -> str:
    return _PLUMBING % {
        "place": guard.place or "true",
        "trap": "if (acts) __trap();" if trapped else "",
        "abort": f"if (fault_on_host && {_format_anywhere(guard)}) abort();" if trapped else "",
        "anywhere": _format_anywhere(guard),
    }


def _format_anywhere(guard: GuardCode) -> str:
    # a place belongs to a thread of the device, not to the host
    return "false" if guard.place else "true"


def _guard_change(source: str, change: SourceChange) -> str:
    acts = "fault_acts()" if on_device(source, change.start) else "fault_acts_on_host()"
    original = source[change.start : change.end]
    if not change.statement:
        return f"({acts} ? ({change.text}) : ({original}))"
    if change.text == ";":
        return f"if (!{acts}) {{ {original} }}"
    return f"if ({acts}) {{ {change.text} }} else {{ {original} }}"
