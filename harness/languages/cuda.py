"""CUDA, run on the emulated device and on a GPU if there is one."""

import math
import random
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import PrerequisiteError
from harness.languages.base import (
    AnswerFiles,
    CompilerReport,
    CompilerVerdict,
    Device,
    Language,
    MissingTool,
    RepairedAnswer,
    Runnable,
    target_of,
)
from harness.model import Challenge, Figure, Location
from harness.mutation.operators.changes import GuardCode, SourceChange
from harness.sandbox import detect
from harness.sandbox.confinement import scratch
from harness.sandbox.session.background_task import Beside
from harness.source.c.syntax import C_FAMILY

# loaded when the first CUDA submission comes
if TYPE_CHECKING:
    from harness.cuda.check.verdict import CompilerResult
    from harness.cuda.gpu.device import GpuBuild, GpuDevice

NO_HOST_COMPILER = "no C++ compiler here for the emulated device: install g++ or clang++, or `pip install ziglang`"
_NOT_RUN = (
    "answers in CUDA cannot be run: no C++ compiler; install g++ or clang++, or `pip install 'kernel-harness[zig]'`"
)
_NOT_COMPILED = (
    "answers in CUDA are not shown to a CUDA compiler: `make compilers`, or `pip install 'kernel-harness[{}]'`"
)
EXTRAS = {
    "zig": MissingTool("zig", "a C++ compiler, the wheel ziglang", 101, _NOT_RUN, needed=True),
    "nvcc": MissingTool("nvcc", "the CUDA compiler, NVIDIA's wheels of nvcc", 129, _NOT_COMPILED.format("nvcc")),
    "nvrtc": MissingTool(
        "nvrtc", "a CUDA compiler for device code, NVIDIA's wheels of NVRTC", 65, _NOT_COMPILED.format("nvrtc")
    ),
}


@dataclass(frozen=True)
class LocalGpu(Device):
    """A GPU of this machine."""

    gpu: "GpuDevice"


class Cuda(Language):
    """Submissions of CUDA files that export C functions."""

    name = "cuda"
    title = "CUDA"
    suffix = ".cu"
    syntax = C_FAMILY
    several_entries = True
    entry_note = "the files to compile; headers may lie beside them"
    exposes = "library exports"
    fences = frozenset(
        {"cu", "cuh", "cpp", "c++", "c", "cxx", "cc", "h", "hpp", "cuda-cpp", "cuda-c++", "cuda-c", "cudac"}
    )
    builds = 4  # by the real compiler, for the emulated device with checks and without, for the GPU
    devices = ("gpu", "emulated")
    host_device = Device("emulated")

    def device(self, asked: str) -> Device:
        """See `Language.device`: `auto` means a GPU if nvcc can build for it."""
        from harness.cuda.compilers.nvcc import nvcc
        from harness.cuda.gpu.device import gpu_device, out_of_reach

        if asked == self.host_device.name:
            return self.host_device
        gpu = gpu_device()
        if asked == "gpu" and gpu is None:
            raise PrerequisiteError("no GPU here\n  try: --device emulated")
        if gpu is None:
            return self.host_device
        why = "there is no nvcc to build for it" if asked != "gpu" and nvcc() is None else out_of_reach(gpu, detect())
        if why and asked == "gpu":
            raise PrerequisiteError(f"{gpu.name} cannot be used: {why}\n  try: harness doctor, or --device emulated")
        return replace(self.host_device, passed_over=f"{gpu.name}: {why}") if why else LocalGpu(gpu.name, gpu)

    def toolchain(self) -> tuple[tuple[str, str], ...]:
        """See `Language.toolchain`."""
        from harness.cuda.compilers.toolchain import versions

        return versions()

    def missing_tools(self) -> tuple[MissingTool, ...]:
        """See `Language.missing_tools`."""
        from harness.cuda.compilers.nvcc import lacking

        return tuple(EXTRAS[extra] for extra in lacking())

    def compile(self, files: AnswerFiles, challenge: Challenge, *, brief: bool = False) -> CompilerReport:
        """See `Language.compile`: also judges `no_spills`."""
        from harness.cuda.check.verdict import gate

        symbols, seconds = challenge.contract.functions, challenge.limits.build_seconds
        said = gate(files.folder, files.entries, symbols, tier=detect(), seconds=seconds, optimised=not brief)
        if brief and said.ok is False:  # compile again, so that a refusal has the words of a full grade
            said = gate(files.folder, files.entries, symbols, tier=detect(), seconds=seconds)
        verdicts = {"no_spills": _spills(said)}
        return CompilerReport(
            said.compiler or "", said.ok, said.text, _collect_figures(said), verdicts, _list_locations(said)
        )

    def repaired(
        self, files: AnswerFiles, challenge: Challenge, into: Path, spared: Collection[str] = ()
    ) -> RepairedAnswer | None:
        """See `Language.repaired`."""
        from harness.cuda.repair.repaired_copy import repair_copy

        done = repair_copy(
            files.folder, files.entries, challenge.contract.functions, into, tier=detect(), spared=spared
        )
        return RepairedAnswer(done.repairs, "" if done.built else done.text) if done.repairs else None

    def changes(self, source: str, spared: Collection[str] = (), called: Collection[str] = ()) -> list[SourceChange]:
        """See `Language.changes`."""
        from harness.mutation.operators.cuda import cuda_changes

        return cuda_changes(source, spared)

    def planted(self, source: str, change: SourceChange, guard: GuardCode, *, trapped: bool = False) -> str:
        """See `Language.planted`."""
        from harness.mutation.planting import cuda

        return cuda.plant(source, change, guard, trapped=trapped)

    def shown(self, source: str, change: SourceChange, guard: GuardCode) -> str:
        """See `Language.shown`."""
        from harness.mutation.planting import cuda

        return cuda.display(source, change, guard)

    def computed(self, value: int, rng: random.Random) -> str:
        """See `Language.computed`."""
        from harness.mutation.planting import cuda

        return cuda.conceal_number(value, rng)

    @contextmanager
    def open(self, files: AnswerFiles, challenge: Challenge, device: Device) -> Iterator[Runnable]:
        """See `Language.open`: builds for the emulated device, and a GPU if `device` is one."""
        with scratch.folder() as folder, scratch.folder() as beside:
            if not isinstance(device, LocalGpu):
                yield _emulate(files, challenge, folder)
                return
            building = Beside(partial(_build_for, device.gpu, files, challenge, beside))
            try:
                emulated = _emulate(files, challenge, folder)
                yield emulated if emulated.fault else _finish_on_gpu(building, challenge, device.gpu, emulated)
            finally:
                building.give_up()


def _emulate(files: AnswerFiles, challenge: Challenge, folder: Path) -> Runnable:
    from harness.cuda.compilers.host_compiler import host_compiler
    from harness.cuda.emulator.emulation import ENTRY, emulate

    if host_compiler() is None:
        return Runnable(None, unsupported=NO_HOST_COMPILER)
    made = emulate(files.folder, files.entries, folder, tier=detect(), seconds=challenge.limits.build_seconds)
    if made.refused:
        return Runnable(None, fault=made.why_not)
    if not made.ok:
        return Runnable(None, unsupported=made.why_not)
    target = target_of(challenge, folder, ENTRY)
    return Runnable(target, launched=True, emulated=target, sources=files.paths)


def _build_for(gpu: "GpuDevice", files: AnswerFiles, challenge: Challenge, folder: Path) -> "GpuBuild":
    from harness.cuda.gpu.device import build_for

    seconds = challenge.limits.build_seconds
    return build_for(gpu, files.folder, files.entries, folder, tier=detect(), seconds=seconds)


def _finish_on_gpu(
    building: "Beside[GpuBuild]", challenge: Challenge, gpu: "GpuDevice", emulated: Runnable
) -> Runnable:
    from harness.cuda.gpu.device import target

    built = building.result(math.inf)
    assert built is not None  # the wait is unlimited
    if not built.ok:
        return Runnable(None, fault=built.errors)
    on_gpu = target(gpu, built, challenge.contract.functions, detect(), challenge.limits)
    return Runnable(
        on_gpu, launched=True, emulated=emulated.target, not_emulated=emulated.unsupported, sources=emulated.sources
    )


def _list_locations(gate: "CompilerResult") -> tuple[Location, ...]:
    return tuple(dict.fromkeys(place for e in gate.errors if e.file for place in Location.within(e.file, e.line)))


def _spills(gate: "CompilerResult") -> CompilerVerdict:
    """Return whether no kernel spills; even without spills, a stack frame may lie in local memory."""
    if not gate.kernels:
        return CompilerVerdict(None, f"{gate.compiler} tells nothing of registers")
    spilled = sum(k.spill_store_bytes + k.spill_load_bytes for k in gate.kernels)
    measured: dict[str, Figure] = {"spill_bytes": spilled, "stack_bytes": max(k.stack_bytes for k in gate.kernels)}
    if not spilled:
        return CompilerVerdict(True, measured=measured)
    worst = max(gate.kernels, key=lambda k: k.spill_store_bytes + k.spill_load_bytes)
    detail = f"{worst.name} spills {worst.spill_store_bytes} bytes and reloads {worst.spill_load_bytes}"
    return CompilerVerdict(False, detail, measured)


def _collect_figures(gate: "CompilerResult") -> dict[str, Figure]:
    named: dict[str, Figure] = {"compiler": gate.compiler or ""}
    if not gate.kernels:
        return named
    return named | {
        "kernels_compiled": len(gate.kernels),
        "registers": max(k.registers for k in gate.kernels),
        "stack_bytes": max(k.stack_bytes for k in gate.kernels),
        "static_shared_bytes": max(k.static_shared_bytes for k in gate.kernels),
    }


CUDA = Cuda()
