"""The prompt of a challenge."""

from pathlib import Path

from harness.errors import SpecError
from harness.workspace import Workspace

FORMAT = "In a chat, reply with one fenced block for each file: the file whole and once, its name after the language."
"""Format of a reply, for prompts that do not state one."""
_SAYS_SO = "one fenced block for each file"


def task_prompt(workspace: Workspace, challenge: str) -> str:
    """Return a challenge's task and contract in Markdown, with the reply format.

    Raises:
        NotFoundError: the challenge is unknown.
        SpecError: the prompt or the contract cannot be read.
    """
    folder = workspace.challenge_folder(challenge)
    contracts = (
        f"\n## {path.name}\n\n```{path.suffix[1:]}\n{_read_text(path)}\n```"
        for path in sorted(folder.glob("contract.*"))
    )
    task = _read_text(folder / "PROMPT.md")
    form = () if _SAYS_SO in " ".join(task.split()) else (f"\n{FORMAT}",)
    return "\n".join([task, *form, *contracts])


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").rstrip()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(path, f"cannot be read: {error}") from None
