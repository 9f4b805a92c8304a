"""A submission on the emulated device: two builds and a driver."""

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path

from harness.cuda.compilers.compile_time import SECONDS
from harness.cuda.emulator.build import Built, UnsupportedConstruct, build
from harness.sandbox import Tier

DRIVER = Path(__file__).parents[1] / "inside" / "driver.py"
ENTRY = DRIVER.name
"""Module that the sandbox imports in place of a Python submission."""


@dataclass(frozen=True)
class Emulation:
    """A submission built for the emulated device.

    Attributes:
        folder: contents of the sandbox: both libraries and the driver.
        unsupported: missing constructs that prevented the build.
        refused: reasons to keep it off the device, whose reports it could falsify.
    """

    folder: Path
    unsupported: tuple[UnsupportedConstruct, ...]
    errors: str
    refused: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if it can be called."""
        return not self.unsupported and not self.errors and not self.refused

    @property
    def why_not(self) -> str:
        """Sentence on why the device cannot or must not run it."""
        if self.refused:
            more = f"; {len(self.refused) - 5} more" if len(self.refused) > 5 else ""
            return f"refused: it could falsify what is measured: {'; '.join(self.refused[:5])}{more}"
        if self.unsupported:
            listed = "; ".join(f"{u.what} ({u.file}:{u.line})" for u in self.unsupported[:5])
            return f"unsupported on the emulated device: {listed}"
        return f"the emulated build failed: {self.errors[:2000]}"


def emulate(answer: Path, entries: Sequence[str], into: Path, *, tier: Tier, seconds: float = SECONDS) -> Emulation:
    """Build a submission for the emulated device in the empty folder `into`, once plain and once with checks.

    Raises:
        BusyMachineError: too little processor time on a busy machine.
    """

    def one(instrumented: bool) -> Built:
        return build(answer, entries, into, tier=tier, instrumented=instrumented, seconds=seconds)

    with ThreadPoolExecutor(2) as both:
        # each thread gets a copy of this context, which carries the grade's deadline
        builds = [both.submit(copy_context().run, one, instrumented) for instrumented in (False, True)]
        plain, instrumented = (build.result() for build in builds)
    shutil.copy(DRIVER, into / ENTRY)
    failures = [b for b in (plain, instrumented) if b.path is None]
    failed = next((b for b in failures if b.refused), failures[0] if failures else None)
    if failed is None and plain.source_digest != instrumented.source_digest:
        return Emulation(into, (), "", ("its source is another one where accesses are watched",))
    if failed is None:
        return Emulation(into, (), "")
    if failed.refused:
        return Emulation(into, (), "", failed.refused)
    return Emulation(into, failed.unsupported, "" if failed.unsupported else failed.errors or "no output")
