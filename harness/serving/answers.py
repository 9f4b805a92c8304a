"""Layout of requests as folders."""

from collections.abc import Mapping
from pathlib import Path

from harness.errors import SpecError
from harness.importing.bare_files import render_submission
from harness.importing.unanswered import importer_alone
from harness.model import Challenge
from harness.model.submissions.collection import SUBMISSION_FILE
from harness.model.submissions.file_names import REPLY_FILE
from harness.model.submissions.name import SubmissionName
from harness.serving.requests import GradeRequest
from harness.workspace import Workspace
from harness.workspace.submission_folders import write_files


def lay_out(workspace: Workspace, request: GradeRequest, folder: Path) -> None:
    """Write a request's files, with a submission.toml, into an empty folder.

    Raises:
        NotFoundError: the challenge is unknown.
        FilesError: names of its files clash.
        SpecError: the entry is ambiguous, or submission.toml names another challenge.
    """
    challenge = workspace.challenge(request.challenge)
    write_files(folder, _collect_files(request, challenge))
    stated = workspace.submission(folder).about.challenge
    if stated != challenge.id:
        problem = f"is {stated!r}, not {challenge.id!r}"
        raise SpecError(folder / SUBMISSION_FILE, problem, field="submission.challenge")


def _collect_files(request: GradeRequest, challenge: Challenge) -> Mapping[str, bytes]:
    if request.files is None:
        name, data = SubmissionName(request.model, challenge.id), (request.reply or "").encode()
        return importer_alone(REPLY_FILE, data, name, challenge).read(str(name))
    files = {name: text.encode() for name, text in request.files.items()}
    if SUBMISSION_FILE in files:
        return files
    stated = render_submission("the answer", challenge, request.entry, sorted(files), request.model)
    return files | {SUBMISSION_FILE: stated.encode()}
