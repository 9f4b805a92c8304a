"""A submission.toml for files that came without one."""

import json
from collections.abc import Iterable
from pathlib import Path

from harness.errors import SpecError
from harness.languages import language
from harness.model import Challenge


def stated_submission(
    place: Path | str, challenge: Challenge, entry: str | None, names: Iterable[str], model: str = "candidate"
) -> str:
    """The text of a submission.toml for some files.

    Args:
        place: what a message calls them.
        challenge: what they answer.
        entry: the file with the contract's functions; the only one of the challenge's language by default.
        names: of the files.
        model: who answered.

    Raises:
        SpecError: it cannot be told which is the entry.
    """
    suffix = language(challenge.language).suffix
    files = [name for name in names if name.endswith(suffix)]
    if entry is None and len(files) != 1:
        raise SpecError(place, f"has {len(files)} {suffix} files and no submission.toml; say which is the entry")
    # a JSON string that is not escaped to ASCII is a TOML string
    task, file = (json.dumps(text, ensure_ascii=False) for text in (challenge.id, entry or files[0]))
    about = f'model = "{model}"\nchallenge = {task}\nlanguage = "{challenge.language}"\n'
    return f'[submission]\n{about}entry = {file}\nprovenance = "model-output"\n'
