"""A challenge as a task of Harbor: https://www.harborframework.com/docs/tasks.

The verifier runs in an image of its own, which never held the answer's author, and is given the folder of the answer
and nothing else of the agent's container. The probes are in that image alone.
"""

import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from harness.asking.task import task_prompt
from harness.errors import SpecError, StoreError
from harness.integrations.own_wheel import constraints, wheel, wheel_name
from harness.languages import language
from harness.model import Challenge, GradeProfile
from harness.stored_files import remedy
from harness.workspace import Workspace

ANSWER = "/app/answer"
"""Where the agent leaves its answer; the only thing of its container that the verifier sees."""
REWARDS = "/logs/verifier"
"""Where Harbor looks for the reward. Nothing below it may ever be an artifact: those are put back before the verifier
runs, and a `reward.json` among them would come before ours."""
_TEMPLATES = "templates/harbor"
_CHEATS = "cheat/answer"
_AGENTS = ("numpy", "pytest")
"""What the agent's image has, in the versions that the verifier's has."""


def write_harbor_task(workspace: Workspace, challenge: str, folder: Path) -> None:
    """Write a task into a new folder, whole or not at all.

    Args:
        workspace: where the challenge is.
        challenge: its id.
        folder: of the task; it must not be there.

    Raises:
        NotFoundError: there is no such challenge.
        SpecError: the folder is there, or a file of the challenge cannot be read.
        PrerequisiteError: this harness was never installed.
        StoreError: the folder cannot be written.
    """
    task = workspace.challenge(challenge)
    if folder.exists() or folder.is_symlink():
        raise SpecError(folder, "exists already; nothing was changed", hint="name a new folder for the task")
    texts = {**_rendered(task), "instruction.md": _instruction(task_prompt(workspace, task.id), task)}
    reference = _reference(workspace, task)
    made = folder.with_name(f".{folder.name}.new")
    try:
        made.mkdir(parents=True)
        for name, text in texts.items():
            path = made / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755 if path.suffix == ".sh" else 0o644)
        for kind, place in (
            ("challenges", workspace.challenge_folder(task.id)), ("references", workspace.reference_folder(task.id)),
        ):  # fmt: skip
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(place, made / "tests" / "workspace" / kind / task.id, ignore=ignored)
        (made / "tests" / wheel_name()).write_bytes(wheel())
        (made / "solution" / "answer").mkdir()
        shutil.copyfile(reference, made / "solution" / "answer" / f"answer{reference.suffix}")
        made.rename(folder)
    except OSError as error:
        shutil.rmtree(made, ignore_errors=True)
        raise StoreError(f"{folder}: cannot be written: {error.strerror}\n  {remedy(error)}") from error


def _reference(workspace: Workspace, challenge: Challenge) -> Path:
    path = workspace.reference_folder(challenge.id) / f"reference{language(challenge.language).suffix}"
    if not path.is_file():
        raise SpecError(path, "is missing", hint="a task brings a right answer along: Harbor's oracle")
    return path


def _instruction(prompt: str, challenge: Challenge) -> str:
    """What the agent is told: the prompt, and where the answer goes."""
    suffix = language(challenge.language).suffix
    return (
        f"{prompt}\n## Where the answer goes\n\nPut the files of your answer into `{ANSWER}`. They are read from there "
        f"when you are done, regular files only. Without a `submission.toml` there must be exactly one `{suffix}` "
        "file; with one, it names the entry. Nothing else that you do in this container is looked at.\n"
    )


def _rendered(challenge: Challenge) -> dict[str, str]:
    """The texts of a task by their place in its folder."""
    suffix = language(challenge.language).suffix
    words: Mapping[str, object] = {
        "challenge": challenge, "name": challenge.id.replace("_", "-"), "profile": GradeProfile.CORRECTNESS,
        "answer": ANSWER, "rewards": REWARDS, "wheel": wheel_name(), "constraints": constraints(),
        "agents": [pinned for pinned in constraints() if pinned.partition("==")[0] in _AGENTS],
        "python": ".".join(map(str, sys.version_info[:2])),
    }  # fmt: skip
    templates = Environment(
        loader=PackageLoader("harness.integrations", _TEMPLATES), undefined=StrictUndefined, autoescape=False,
        keep_trailing_newline=True, trim_blocks=True,
    )  # fmt: skip
    return {
        name.removesuffix(".j2"): templates.get_template(name).render(words)
        for name in _of_language(templates.list_templates(), suffix)
    }


def _of_language(names: list[str], suffix: str) -> Iterator[str]:
    """Every template but the cheating answers in other languages."""
    return (name for name in names if not name.startswith(_CHEATS) or name.endswith(f"{suffix}.j2"))
