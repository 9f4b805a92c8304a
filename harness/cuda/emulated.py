"""The emulated device as the grader uses it: an answer built twice, with a driver that the box runs."""

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path

from harness.cuda.build import Built, UnsupportedConstruct, build
from harness.cuda.compiling import SECONDS
from harness.sandbox import Tier

DRIVER = Path(__file__).parent / "driver" / "driver.py"
ENTRY = DRIVER.name
"""The module that the box imports in place of an answer in Python."""


@dataclass(frozen=True)
class Emulation:
    """An answer built for the emulated device.

    Attributes:
        folder: what the box shows: both libraries and the driver.
        unsupported: constructs the device does not have; nothing was built then.
        errors: the host compiler's words when it could not build.
        refused: why the answer must not run beside the device: it could falsify what the device reports.
    """

    folder: Path
    unsupported: tuple[UnsupportedConstruct, ...]
    errors: str
    refused: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the answer can be called."""
        return not self.unsupported and not self.errors and not self.refused

    @property
    def why_not(self) -> str:
        """In a sentence, why the device cannot or must not run the answer."""
        if self.refused:
            more = f"; {len(self.refused) - 5} more" if len(self.refused) > 5 else ""
            return f"refused: it could falsify what is measured: {'; '.join(self.refused[:5])}{more}"
        if self.unsupported:
            listed = "; ".join(f"{u.what} ({u.file}:{u.line})" for u in self.unsupported[:5])
            return f"unsupported on the emulated device: {listed}"
        return f"the emulated build failed: {self.errors[:2000]}"


def emulate(answer: Path, entries: Sequence[str], into: Path, *, tier: Tier, seconds: float = SECONDS) -> Emulation:
    """Build an answer for the emulated device, once without checks and once with them.

    Args:
        answer: its files.
        entries: the CUDA files to compile.
        into: an empty folder for what the box will show.
        tier: how the compiler, fed with what the answer wrote, is held.
        seconds: processor time for each build.

    Raises:
        BusyMachineError: the machine gave the compiler too little time.
        BoxError: the compiler could not be started.
    """

    def one(instrumented: bool) -> Built:
        return build(answer, entries, into, tier=tier, instrumented=instrumented, seconds=seconds)

    with ThreadPoolExecutor(2) as both:
        # in copies of this context, which holds when the grade has to end
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
