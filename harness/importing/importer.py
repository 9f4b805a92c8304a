"""What brings answers in: the protocol that every importer keeps, and laying out what it reads in one step."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from harness.errors import StoreError
from harness.stored_files import remedy
from harness.submission_folders import write_files


class Importer(Protocol):
    """A source of answers. It only reads: nothing is written before every answer was read and found right."""

    def discover(self) -> Sequence[str]:
        """The answers there are, as `MODEL/CHALLENGE`, sorted.

        Raises:
            HarnessError: the source cannot be read.
        """

    def read(self, name: str) -> Mapping[str, bytes]:
        """The files of one answer's submission by relative path, `submission.toml` included.

        Args:
            name: one that `discover` gave.

        Raises:
            HarnessError: a file is missing, or is not what it should be.
        """


def lay_out(importer: Importer, place: Path) -> list[Path]:
    """Put every answer of a source into `place/<model>/<challenge>/`, all or none; the folders made.

    Args:
        importer: the source.
        place: replaced as a whole.

    Raises:
        HarnessError: an answer cannot be read; `place` is as it was.
        StoreError: `place` cannot be written; it is as it was.
    """
    try:
        with _beside(place) as made:
            names = importer.discover()
            for name in names:
                write_files(made / name, importer.read(name))
            _replace(place, made)
    except OSError as error:
        raise StoreError(f"{place}: cannot be written: {error.strerror}\n  {remedy(error)}") from error
    return [place / name for name in names]


@contextmanager
def _beside(place: Path) -> Iterator[Path]:
    """A folder on the same file system, removed again if it is still there; what killed imports left goes first."""
    place.parent.mkdir(parents=True, exist_ok=True)
    for left in place.parent.glob(f".{place.name}.*"):
        if left.suffix[1:].isdigit() and not Path("/proc", left.suffix[1:]).exists():
            shutil.rmtree(left, ignore_errors=True)
    made = place.with_name(f".{place.name}.new.{os.getpid()}")
    made.mkdir()
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _replace(place: Path, made: Path) -> None:
    """Put `made` where `place` is; where that fails, `place` comes back."""
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
