"""Python: the sandbox imports the submission's module and calls its functions."""

import random
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace

from harness.languages.base import AnswerFiles, Device, Language, Runnable, target_of
from harness.model import Challenge
from harness.mutation.operators.changes import GuardCode, SourceChange
from harness.source.python.syntax import PYTHON_SYNTAX


class Python(Language):
    """Submissions of Python modules."""

    name = "python"
    title = "Python"
    suffix = ".py"
    syntax = PYTHON_SYNTAX
    entry_note = "the module with the contract's functions; others may lie beside it"
    exposes = "entry module has"
    fences = frozenset({"py", "python3", "py3", "numpy", "pytest", "ipython"})
    test_command = ("python", "-m", "pytest", "-q")
    runs_in_process = True
    traces_lines = True

    def stub(self, contract: str) -> str:
        """See `Language.stub`: every function raises NotImplementedError."""
        return re.sub(r"(?m)^(\s+)\.\.\.$", r"\1raise NotImplementedError", contract)

    def changes(self, source: str, spared: Collection[str] = (), called: Collection[str] = ()) -> list[SourceChange]:
        """See `Language.changes`."""
        from harness.mutation.operators.python import python_changes

        return python_changes(source, spared, called)

    def planted(self, source: str, change: SourceChange, guard: GuardCode, *, trapped: bool = False) -> str:
        """See `Language.planted`."""
        from harness.mutation.planting import python

        return python.plant(source, change, guard, trapped=trapped)

    def shown(self, source: str, change: SourceChange, guard: GuardCode) -> str:
        """See `Language.shown`."""
        from harness.mutation.planting import python

        return python.display(source, change, guard)

    def computed(self, value: int, rng: random.Random) -> str:
        """See `Language.computed`."""
        from harness.mutation.planting import python

        return python.conceal_number(value, rng)

    @contextmanager
    def open(self, files: AnswerFiles, challenge: Challenge, device: Device) -> Iterator[Runnable]:
        """See `Language.open`: Python needs no build."""
        yield Runnable(replace(target_of(challenge, files.folder, files.entries[0]), sources=files.paths))


PYTHON = Python()
