"""Shell completion of names."""


def submissions(incomplete: str) -> list[str]:
    """Return matching submissions, models and challenges."""
    from harness.errors import HarnessError
    from harness.model.submissions.name import SubmissionName
    from harness.workspace import Workspace

    try:
        workspace = Workspace.find()
        names = [SubmissionName.of_folder(folder) for folder in workspace.submissions()]
        answers = dict.fromkeys(name.answer for name in names)
        known = [*answers, *(str(name) for name in names if name.attempt), *workspace.models(), *workspace.challenges()]
    except (HarnessError, OSError):
        return []
    return [name for name in known if name.startswith(incomplete)]


def challenges(incomplete: str) -> list[str]:
    """Return matching challenges."""
    from harness.errors import HarnessError
    from harness.workspace import Workspace

    try:
        return [name for name in Workspace.find().challenges() if name.startswith(incomplete)]
    except (HarnessError, OSError):
        return []


def records(incomplete: str) -> list[str]:
    """Return matching records."""
    from harness.errors import HarnessError
    from harness.workspace import Workspace

    try:
        names = map(str, Workspace.find().list_recorded())
    except (HarnessError, OSError):
        return []
    return [name for name in names if name.startswith(incomplete)]


def collections(incomplete: str) -> list[str]:
    """Return matching collections."""
    from harness.errors import HarnessError
    from harness.workspace import Workspace

    try:
        return [name for name in Workspace.find().collections() if name.startswith(incomplete)]
    except (HarnessError, OSError):
        return []
