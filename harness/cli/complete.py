"""Shell completion of names."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.workspace import Workspace


def submissions(incomplete: str) -> list[str]:
    """Return matching submissions, models and challenges."""
    return _complete(incomplete, _list_submissions)


def challenges(incomplete: str) -> list[str]:
    """Return matching challenges."""
    return _complete(incomplete, lambda workspace: workspace.challenges())


def records(incomplete: str) -> list[str]:
    """Return matching records."""
    return _complete(incomplete, lambda workspace: map(str, workspace.list_recorded()))


def collections(incomplete: str) -> list[str]:
    """Return matching collections."""
    return _complete(incomplete, lambda workspace: workspace.collections())


def _complete(incomplete: str, list_names: "Callable[[Workspace], Iterable[str]]") -> list[str]:
    from harness.workspace import Workspace

    try:
        return [name for name in list_names(Workspace.find()) if name.startswith(incomplete)]
    except (HarnessError, OSError):
        return []


def _list_submissions(workspace: "Workspace") -> list[str]:
    from harness.model.submissions.name import SubmissionName

    names = [SubmissionName.of_folder(folder) for folder in workspace.submissions()]
    answers = dict.fromkeys(name.answer for name in names)
    return [*answers, *(str(name) for name in names if name.attempt), *workspace.models(), *workspace.challenges()]
