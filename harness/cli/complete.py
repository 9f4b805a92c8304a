"""Names for shell completion."""


def submissions(incomplete: str) -> list[str]:
    """Submissions, models and challenges that begin so."""
    from harness.errors import HarnessError
    from harness.workspace import Workspace

    try:
        workspace = Workspace.find()
        names = [f"{p.parent.name}/{p.name}" for p in workspace.submissions()]
        known = [*names, *workspace.models(), *workspace.challenges()]
    except (HarnessError, OSError):
        return []
    return [name for name in known if name.startswith(incomplete)]


def challenges(incomplete: str) -> list[str]:
    """Challenges that begin so."""
    from harness.errors import HarnessError
    from harness.workspace import Workspace

    try:
        return [name for name in Workspace.find().challenges() if name.startswith(incomplete)]
    except (HarnessError, OSError):
        return []


def records(incomplete: str) -> list[str]:
    """Records that begin so."""
    from harness.errors import HarnessError
    from harness.workspace import Workspace

    try:
        paths = sorted(Workspace.find().records_folder.glob("*/*.json"))
    except (HarnessError, OSError):
        return []
    return [name for p in paths if (name := f"{p.stem}/{p.parent.name}").startswith(incomplete)]


def collections(incomplete: str) -> list[str]:
    """Collections that begin so."""
    from harness.errors import HarnessError
    from harness.workspace import Workspace

    try:
        return [name for name in Workspace.find().collections() if name.startswith(incomplete)]
    except (HarnessError, OSError):
        return []
