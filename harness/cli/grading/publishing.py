"""Which records of `harness grade` are published."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from harness.cli import output, replies

if TYPE_CHECKING:
    from harness.executors.base import NotGraded
    from harness.grading.options import Options
    from harness.grading.submission_grade import Graded
    from harness.model import Record
    from harness.workspace import Workspace


def refuse_replies(names: Sequence[str], challenge: str | None) -> None:
    """Refuse to publish the record of a reply, whose file name is no model's."""
    for name in filter(replies.is_reply, names):
        command = _build_import_command(name, challenge or "CHALLENGE")
        raise typer.BadParameter(f"--publish: {name} is a reply, which names no model; import it instead:\n  {command}")


def tell_published(
    workspace: "Workspace", results: Sequence["Graded | NotGraded"], options: "Options", given: Mapping[Path, str]
) -> None:
    """Print which records were published by --publish, and which ones were not, with the reason.

    Args:
        given: files of the replies, by the folder that was graded.
    """
    from harness.executors.base import NotGraded
    from harness.report import formatting

    every = [r for r in results if not isinstance(r, NotGraded)]
    _tell_replies([(given[r.folder], r.record) for r in every if r.folder in given])
    graded = [r for r in every if r.folder not in given]
    if partly := [r.record.name for r in graded if r.record.partial]:
        output.note(f"not published, because only a part of the criteria was run: {formatting.some(partly)}")
        return
    if options.elsewhere:
        for path in (path for result in graded if (path := _find_published(workspace, result.record))):
            output.note(f"published: {output.place(path)}")
        return
    if away := [r for r in graded if not workspace.holds(r.folder)]:
        names = formatting.some(result.record.name for result in away)
        output.note(f"not published, because it lies outside submissions/: {names}\n  try: --publish")
    for name, home in find_others_records(workspace, [r.folder for r in graded if r not in away]):
        output.note(f"not published, because the record there is that of {home}: {name}\n  --publish replaces it")


def find_others_records(workspace: "Workspace", folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Yield submissions whose published record belongs to another folder, with that folder."""
    from harness.errors import SpecError
    from harness.store.conflict import other_home

    for folder in folders:
        with suppress(SpecError):  # reported by the grade itself
            submission = workspace.submission(folder)
            if home := other_home(workspace, folder, submission):
                yield submission.name, home


def _tell_replies(graded: Sequence[tuple[str, "Record"]]) -> None:
    marked = [(file, record.challenge) for file, record in graded if record.overall.score is not None]
    if not marked:
        return
    (file, challenge), several = marked[0], len(marked) > 1
    command = _build_import_command("FILE" if several else file, challenge)
    words = "these marks are not on the board; to put one" if several else "this mark is not on the board; to put it"
    output.note(f"{words} there: {command}, then harness grade NAME/{challenge}")


def _build_import_command(file: str, challenge: str) -> str:
    return f"harness import reply {file} --model NAME --challenge {challenge}"


def _find_published(workspace: "Workspace", record: "Record") -> Path | None:
    path = workspace.record_path(record.model, record.challenge, record.attempt)
    return path if path.is_file() and path.read_bytes() == record.to_json().encode() else None
