"""Evidence from the real CUDA compiler: that an answer compiles, and what its kernels use."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from harness.model import Criterion, Evidence, Figure, Outcome

if TYPE_CHECKING:
    from harness.cuda.gate import CompilerResult


def compiler_evidence(criteria: Iterable[Criterion], gate: "CompilerResult") -> dict[str, Evidence]:
    """Evidence of the criteria that the compiler feeds, by id.

    Args:
        criteria: those with a `compiler` feed.
        gate: what the compiler said; without one nothing was run.
    """
    return {c.id: _judged(c, gate) for c in criteria}


def _judged(criterion: Criterion, gate: "CompilerResult") -> Evidence:
    if gate.ok is None:
        return _came(criterion, Outcome.NOT_RUN, gate.text)
    if criterion.compiler == "compiles":
        if gate.ok:
            return _came(criterion, Outcome.PASSED, f"compiled by {gate.compiler}", figures(gate))
        return _came(criterion, Outcome.FAILED, gate.text)
    if not gate.ok:
        return _came(criterion, Outcome.FAILED, "the submission does not build", rests_on="build")
    if not gate.kernels:
        return _came(criterion, Outcome.NOT_RUN, f"{gate.compiler} tells nothing of registers")
    spilled = sum(k.spill_store_bytes + k.spill_load_bytes for k in gate.kernels)
    if not spilled:
        return _came(criterion, Outcome.PASSED, measured={"spill_bytes": 0})
    worst = max(gate.kernels, key=lambda k: k.spill_store_bytes + k.spill_load_bytes)
    detail = f"{worst.name} spills {worst.spill_store_bytes} bytes and reloads {worst.spill_load_bytes}"
    return _came(criterion, Outcome.FAILED, detail, {"spill_bytes": spilled})


def _came(
    criterion: Criterion, outcome: Outcome, detail: str = "", measured: dict[str, Figure] | None = None,
    rests_on: str | None = None,
) -> Evidence:  # fmt: skip
    return Evidence(
        criterion=criterion.id, dimension=criterion.dimension, severity=criterion.severity, outcome=outcome,
        detail=detail, measured=measured or {}, rests_on=rests_on,
    )  # fmt: skip


def figures(gate: "CompilerResult") -> dict[str, Figure]:
    """What the compiler measured, the largest of all kernels."""
    if not gate.kernels:
        return {"compiler": gate.compiler or ""}
    return {
        "compiler": gate.compiler or "",
        "kernels_compiled": len(gate.kernels),
        "registers": max(k.registers for k in gate.kernels),
        "stack_bytes": max(k.stack_bytes for k in gate.kernels),
        "static_shared_bytes": max(k.static_shared_bytes for k in gate.kernels),
    }
