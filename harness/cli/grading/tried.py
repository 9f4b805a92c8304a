"""`harness try`: replies graded and shown, apart from any board."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import complete, output, replies

if TYPE_CHECKING:
    from harness.executors.base import NotGraded
    from harness.model.submissions.name import SubmissionName
    from harness.workspace import Workspace

MARK = ".tried"
"""File in a workspace that this command made, whose submissions it may replace."""


def try_replies(
    files: Annotated[list[str], typer.Argument(metavar="REPLY.md...", help="Replies of models, in Markdown.")],
    challenge: Annotated[
        str,
        typer.Option(
            "--challenge", "-c", metavar="CHALLENGE", help="What they answer.", autocompletion=complete.challenges
        ),
    ],
    into: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where submissions, records and the page go; made where missing.")
    ] = Path("tried"),
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Grades at a time.")] = 1,
) -> None:
    """Import replies, grade them, and write a page of them.

    Each file is a model of its name. All goes into a workspace of its own, so that no board changes; a second run
    adds replies to it, and replaces those of the same name.

    \b
    harness try a.md b.md --challenge kv_cache
    """
    from harness.cli.grading import grade
    from harness.cli.results.report import write_reports
    from harness.grading.options import Options
    from harness.report.views.inputs import gather
    from harness.report.views.mark_source import MarkSource

    workspace = _make_workspace(into.resolve(), challenge)
    folders: list[Path] = []
    refused: list[NotGraded] = []
    for file, name in zip(files, _name_models(files, challenge), strict=True):
        found = _lay_out(workspace, file, name)
        folders.append(found) if isinstance(found, Path) else refused.append(found)
    results, interrupted = grade.run("local", workspace, folders, Options(), jobs, None)
    grade.print_results(workspace, [*results, *refused], as_json=False, place=None)
    if results:
        place = workspace.root / "reports"
        write_reports(gather(workspace), place, [MarkSource.MEASURED])
        output.line(f"open {output.place(place / 'index.html')}")
    raise typer.Exit(130 if interrupted else grade.choose_exit_code([*results, *refused], None))


def _make_workspace(folder: Path, challenge: str) -> "Workspace":
    """Return the workspace of tried replies, with the challenge as it is where the command is called."""
    from harness.cli import scaffold
    from harness.errors import NotFoundError
    from harness.workspace import Workspace
    from harness.workspace.bundled_challenges import find_bundle

    try:
        home = Workspace.find()
    except NotFoundError:
        if "HARNESS_WORKSPACE" in os.environ:  # a wrong one is not replaced by another
            raise
        home = Workspace(find_bundle())
    places = home.folders_of_challenge(challenge)  # unknown names end here
    if not (folder / MARK).is_file():
        scaffold.workspace(folder)
        (folder / MARK).touch()
    for name, place in places.items():
        if find_bundle().resolve() not in place.resolve().parents and place.is_dir() and home.root != folder:
            shutil.rmtree(folder / name, ignore_errors=True)
            shutil.copytree(place, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return Workspace.at(folder)


def _name_models(files: Sequence[str], challenge: str) -> "list[SubmissionName]":
    """Name a model for each file; of equal names the later ones get a number."""
    from harness.model import identifier
    from harness.model.submissions.name import SubmissionName

    names: list[str] = []
    for file in files:
        stem = identifier(Path(file).stem) or "reply"
        numbered = (f"{stem}-{number}" for number in range(2, len(files) + 2))
        names.append(stem if stem not in names else next(name for name in numbered if name not in names))
    return [SubmissionName(name, challenge) for name in names]


def _lay_out(workspace: "Workspace", file: str, name: "SubmissionName") -> "Path | NotGraded":
    from harness.errors import NotFoundError, ReplyError
    from harness.executors.base import NotGraded
    from harness.importing.reply import lay_out_reply
    from harness.importing.unanswered import importer_of
    from harness.replies.text import read_bytes

    task = workspace.challenge(name.challenge)
    try:
        importer = importer_of(*read_bytes(file), name, task)
    except (ReplyError, NotFoundError) as error:
        return NotGraded(Path(file), error)
    folder = workspace.submissions_folder.joinpath(*name.parts)
    shutil.rmtree(folder, ignore_errors=True)
    lay_out_reply(importer, folder)
    replies.tell(importer, task, output.note, f"harness import reply {file} --model {name.model} --challenge {task.id}")
    return folder
