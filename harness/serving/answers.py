"""From what a client sent to a folder that can be graded."""

from collections.abc import Mapping
from pathlib import Path

from harness.errors import ReplyError, SpecError
from harness.importing.bare_files import stated_submission
from harness.importing.reply import ReplyImporter, submission_toml
from harness.importing.reply_text import MAX_BYTES, reply_text
from harness.model import About, Challenge, Provenance, Submission
from harness.model.collection import SUBMISSION_FILE
from harness.model.file_names import REPLY_FILE
from harness.serving.requests import GradeRequest
from harness.submission_folders import write_files
from harness.workspace import Workspace


def lay_out(workspace: Workspace, request: GradeRequest, folder: Path) -> None:
    """Write an answer's files into an empty folder, with a submission.toml where none came with them.

    Args:
        workspace: where the challenges are.
        request: the answer.
        folder: empty.

    Raises:
        NotFoundError: there is no such challenge.
        FilesError: the names of its files are in each other's way.
        SpecError: it cannot be told which file is the entry, or the answer's own submission.toml is for something else.
    """
    challenge = workspace.challenge(request.challenge)
    write_files(folder, _files(request, challenge))
    stated = workspace.submission(folder).about.challenge
    if stated != challenge.id:
        problem = f"is {stated!r}, not {challenge.id!r}"
        raise SpecError(folder / SUBMISSION_FILE, problem, field="submission.challenge")


def _files(request: GradeRequest, challenge: Challenge) -> Mapping[str, bytes]:
    if request.files is None:
        return _files_of_reply(request.reply or "", request.model, challenge)
    files = {name: text.encode() for name, text in request.files.items()}
    if SUBMISSION_FILE in files:
        return files
    stated = stated_submission("the answer", challenge, request.entry, sorted(files), request.model)
    return files | {SUBMISSION_FILE: stated.encode()}


def _files_of_reply(reply: str, model: str, challenge: Challenge) -> Mapping[str, bytes]:
    """The files of a reply; of one without an answer, a submission that says why there is none."""
    data = reply.encode()
    try:
        importer = ReplyImporter(reply_text(REPLY_FILE, data), model, challenge)
        return importer.read(str(importer.name))
    except ReplyError as error:
        about = About(
            model=model, challenge=challenge.id, language=challenge.language, unanswered=error.message, entry=(),
            provenance=Provenance.MODEL_OUTPUT,
        )  # fmt: skip
        return {REPLY_FILE: data[:MAX_BYTES], SUBMISSION_FILE: submission_toml(Submission(submission=about)).encode()}
