"""What a model's server sends, and the command that asks it."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.model import Asked
from harness.workspace import Workspace
from tests.review.judge_server import Request
from tests.toy import CHALLENGE_ID, REFERENCE

NAME = "acme-m-1"
"""The folder of the model `acme/M 1`."""
RIGHT = f"Here it is.\n\n```python\n{REFERENCE.strip()}\n```\n"
WRONG = RIGHT.replace("total * scale", "total")
BROKEN = RIGHT.replace("return total", "return return total")
USAGE = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}

Ran = subprocess.CompletedProcess[str]
Ask = Callable[..., Ran]


def say(request: Request, text: str | None = RIGHT, finish: str = "stop", **message: Any) -> None:
    """A chat completion as servers send it, tokens counted."""
    said = {"role": "assistant", "content": text, **message}
    choice = {"index": 0, "message": said, "finish_reason": finish}
    whole = {"id": "1", "object": "chat.completion", "model": "m-1-0324", "choices": [choice], "usage": USAGE}
    request.send(json.dumps(whole).encode())


def attempts(workspace: Workspace, name: str = NAME) -> dict[int, Asked]:
    """How each attempt that is there was asked for, by number."""
    found = (Asked.from_json(path.read_bytes()) for path in folder(workspace, name).glob("attempt-*/asked.json"))
    return {asked.attempt: asked for asked in sorted(found, key=lambda asked: asked.attempt)}


def folder(workspace: Workspace, name: str = NAME) -> Path:
    """Where the attempts lie."""
    return workspace.submissions_folder / name / CHALLENGE_ID
