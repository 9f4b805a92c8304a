"""What a model is asked: the task and the contract of a challenge, as one text."""

from pathlib import Path

from harness.errors import SpecError
from harness.workspace import Workspace


def task_prompt(workspace: Workspace, challenge: str) -> str:
    """The prompt of a challenge, in Markdown.

    Args:
        workspace: where it is.
        challenge: its id.

    Raises:
        NotFoundError: there is no such challenge.
        SpecError: its prompt or contract cannot be read.
    """
    folder = workspace.challenge_folder(challenge)
    contracts = (
        f"\n## {path.name}\n\n```{path.suffix[1:]}\n{_text(path)}\n```" for path in sorted(folder.glob("contract.*"))
    )
    return "\n".join([_text(folder / "PROMPT.md"), *contracts])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").rstrip()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(path, f"cannot be read: {error}") from None
