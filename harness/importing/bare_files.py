"""A submission.toml for files that lack one."""

import json
from collections.abc import Iterable
from pathlib import Path

from harness.errors import SpecError
from harness.languages import language
from harness.model import Challenge
from harness.workspace.submission_folders import SHOWN


def render_submission(
    place: Path | str, challenge: Challenge, entry: str | None, names: Iterable[str], model: str = "candidate"
) -> str:
    """Return the text of a submission.toml for files with these `names`, called `place` in messages.

    Without `entry` it is the file with the language's usual name, else the only source file that is not a test.

    Raises:
        SpecError: the entry is ambiguous.
    """
    # a JSON string without ASCII escapes is also a TOML string
    task, file = (
        json.dumps(t, ensure_ascii=False) for t in (challenge.id, entry or _find_entry(place, challenge, names))
    )
    about = f'model = "{model}"\nchallenge = {task}\nlanguage = "{challenge.language}"\n'
    return f'[submission]\n{about}entry = {file}\nprovenance = "model-output"\n'


def _find_entry(place: Path | str, challenge: Challenge, names: Iterable[str]) -> str:
    used = language(challenge.language)
    files = [name for name in names if name.endswith(used.suffix)]
    if used.entry in files:
        return used.entry
    sources = [name for name in files if not used.syntax.is_test(name)] or files
    if len(sources) != 1:
        found = f": {', '.join(sources[:SHOWN])}" if sources else ""
        raise SpecError(
            place,
            f"has {len(sources)} {used.suffix} files and no submission.toml; say which is the entry{found}",
            hint="name it:  --entry FILE, or entry= in Python",
        )
    return sources[0]
