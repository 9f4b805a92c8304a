"""A challenge as a Harbor task: https://www.harborframework.com/docs/tasks.

Only the verifier's image has the probes. It receives just the submission's folder from the agent's container.
"""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from harness.asking.task import task_prompt
from harness.errors import SpecError, StoreError
from harness.integrations.own_wheel import constraints, wheel, wheel_name
from harness.languages import language
from harness.model import Challenge, GradeProfile
from harness.workspace import Workspace
from harness.workspace.stored_files import remedy

ANSWER = "/app/answer"
"""Folder of the agent's submission; the verifier sees only this part of the agent's container."""
REWARDS = "/logs/verifier"
"""Folder in which Harbor looks for the reward. Never declare an artifact below it: Harbor restores artifacts before the
verifier runs, and a planted `reward.json` would precede ours."""
_TEMPLATES = "templates/harbor"
_CHEATS = "cheat/answer"
_AGENTS = ("numpy", "pytest")
"""Packages in the agent's image, in the verifier's versions."""


def write_harbor_task(workspace: Workspace, challenge: str, folder: Path) -> None:
    """Write a task into a new folder, all or none.

    Raises:
        NotFoundError: the challenge is unknown.
        SpecError: the folder exists, or a file of the challenge cannot be read.
        PrerequisiteError: the running harness is not installed.
        StoreError: the folder cannot be written.
    """
    task = workspace.challenge(challenge)
    if folder.exists() or folder.is_symlink():
        raise SpecError(folder, "exists already; nothing was changed", hint="name a new folder for the task")
    texts = {**_render_texts(task), "instruction.md": _build_instruction(task_prompt(workspace, task.id), task)}
    reference = _find_reference(workspace, task)
    made = folder.with_name(f".{folder.name}.new")
    try:
        made.mkdir(parents=True)
        for name, text in texts.items():
            path = made / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755 if path.suffix == ".sh" else 0o644)
        for name, place in workspace.folders_of_challenge(task.id).items():
            if place.is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(place, made / "tests" / "workspace" / name, ignore=ignored)
        (made / "tests" / wheel_name()).write_bytes(wheel())
        (made / "solution" / "answer").mkdir()
        shutil.copyfile(reference, made / "solution" / "answer" / f"answer{reference.suffix}")
        made.rename(folder)
    except OSError as error:
        shutil.rmtree(made, ignore_errors=True)
        raise StoreError(f"{folder}: cannot be written: {error.strerror}\n  {remedy(error)}") from error


def _find_reference(workspace: Workspace, challenge: Challenge) -> Path:
    path = workspace.reference_folder(challenge.id) / f"reference{language(challenge.language).suffix}"
    if not path.is_file():
        raise SpecError(path, "is missing", hint="a task brings a right answer along: Harbor's oracle")
    return path


def _build_instruction(prompt: str, challenge: Challenge) -> str:
    suffix = language(challenge.language).suffix
    return (
        f"{prompt}\n## Where the answer goes\n\nPut the files of your answer into `{ANSWER}`. They are read from there "
        f"when you are done, regular files only. Without a `submission.toml` there must be exactly one `{suffix}` "
        "file; with one, it names the entry. Nothing else that you do in this container is looked at.\n"
    )


def _render_texts(challenge: Challenge) -> dict[str, str]:
    suffix = language(challenge.language).suffix
    words: Mapping[str, object] = {
        "challenge": challenge,
        "name": challenge.id.replace("_", "-"),
        "profile": GradeProfile.CORRECTNESS,
        "answer": ANSWER,
        "rewards": REWARDS,
        "wheel": wheel_name(),
        "constraints": constraints(),
        "agents": [pinned for pinned in constraints() if pinned.partition("==")[0] in _AGENTS],
        "python": ".".join(map(str, sys.version_info[:2])),
    }
    templates = Environment(
        loader=PackageLoader("harness.integrations", _TEMPLATES),
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        trim_blocks=True,
    )
    names = (n for n in templates.list_templates() if not n.startswith(_CHEATS) or n.endswith(f"{suffix}.j2"))
    return {name.removesuffix(".j2"): templates.get_template(name).render(words) for name in names}
