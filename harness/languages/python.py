"""Python: the sandbox imports the answer's module and calls its functions."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from harness.languages.base import AnswerFiles, Device, Language, Runnable, target_of
from harness.languages.python_syntax import PYTHON_SYNTAX
from harness.model import Challenge


class Python(Language):
    """Answers that are a Python module."""

    name = "python"
    title = "Python"
    suffix = ".py"
    syntax = PYTHON_SYNTAX
    entry_note = "the module with the contract's functions; others may lie beside it"
    exposes = "entry module has"
    runs_in_process = True

    def stub(self, contract: str) -> str:
        """The contract's functions, none of them done yet."""
        return re.sub(r"(?m)^(\s+)\.\.\.$", r"\1raise NotImplementedError", contract)

    @contextmanager
    def open(self, files: AnswerFiles, challenge: Challenge, device: Device) -> Iterator[Runnable]:
        """As `Language.open`: there is nothing to build."""
        yield Runnable(replace(target_of(challenge, files.folder, files.entries[0]), sources=files.paths))


PYTHON = Python()
