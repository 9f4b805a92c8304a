"""What a model is asked: the task and the contract of a challenge, as one text."""

from pathlib import Path

from harness.errors import SpecError
from harness.workspace import Workspace

FORMAT = "In a chat, reply with one fenced block for each file: the file whole and once, its name after the language."
"""How an answer is to be given, where the prompt of a challenge does not say it."""
_SAYS_SO = "one fenced block for each file"


def task_prompt(workspace: Workspace, challenge: str) -> str:
    """The prompt of a challenge, in Markdown, with the format of a reply.

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
    task = _text(folder / "PROMPT.md")
    form = () if _SAYS_SO in " ".join(task.split()) else (f"\n{FORMAT}",)
    return "\n".join([task, *form, *contracts])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").rstrip()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(path, f"cannot be read: {error}") from None
