"""Importers of submissions."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from harness.errors import StoreError
from harness.workspace.stored_files import remedy
from harness.workspace.submission_folders import write_files


class Importer(Protocol):
    """A source of submissions, read in full before the first is written.

    Its methods raise `HarnessError` if the source cannot be read, or a file is missing or wrong.
    """

    def discover(self) -> Sequence[str]:
        """Return the sorted names of all submissions, `MODEL/CHALLENGE`."""

    def read(self, name: str) -> Mapping[str, bytes]:
        """Return a submission's files by relative path, with `submission.toml`."""


def lay_out(importer: Importer, place: Path) -> list[Path]:
    """Write every submission of a source to `place/<model>/<challenge>/`, and return the folders.

    `place` is replaced as a whole, or left as it was on an error.

    Raises:
        StoreError: `place` cannot be written.
    """
    try:
        with _make_folder_beside(place) as made:
            names = importer.discover()
            for name in names:
                write_files(made / name, importer.read(name))
            _replace(place, made)
    except OSError as error:
        raise StoreError(f"{place}: cannot be written: {error.strerror}\n  {remedy(error)}") from error
    return [place / name for name in names]


@contextmanager
def _make_folder_beside(place: Path) -> Iterator[Path]:
    place.parent.mkdir(parents=True, exist_ok=True)
    # killed imports leave their folders behind
    for left in place.parent.glob(f".{place.name}.*"):
        if left.suffix[1:].isdigit() and not Path("/proc", left.suffix[1:]).exists():
            shutil.rmtree(left, ignore_errors=True)
    # beside `place`, and so on the same file system
    made = place.with_name(f".{place.name}.new.{os.getpid()}")
    made.mkdir()
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _replace(place: Path, made: Path) -> None:
    former = place.with_name(f".{place.name}.old.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        place.rename(former)
    try:
        made.rename(place)
    except OSError:
        with contextlib.suppress(FileNotFoundError):
            former.rename(place)
        raise
    shutil.rmtree(former, ignore_errors=True)
