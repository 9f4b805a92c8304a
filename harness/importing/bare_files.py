"""A submission.toml for files that came without one."""

import json
from collections.abc import Iterable
from pathlib import Path

from harness.errors import SpecError
from harness.languages import language
from harness.model import Challenge
from harness.submission_folders import SHOWN


def stated_submission(
    place: Path | str, challenge: Challenge, entry: str | None, names: Iterable[str], model: str = "candidate"
) -> str:
    """The text of a submission.toml for some files.

    Args:
        place: what a message calls them.
        challenge: what they answer.
        entry: the file with the contract's functions; by default the one with the language's own name for it, else
            the only one of the challenge's language that holds no tests.
        names: of the files.
        model: who answered.

    Raises:
        SpecError: it cannot be told which is the entry.
    """
    # a JSON string that is not escaped to ASCII is a TOML string
    task, file = (json.dumps(t, ensure_ascii=False) for t in (challenge.id, entry or _entry(place, challenge, names)))
    about = f'model = "{model}"\nchallenge = {task}\nlanguage = "{challenge.language}"\n'
    return f'[submission]\n{about}entry = {file}\nprovenance = "model-output"\n'


def _entry(place: Path | str, challenge: Challenge, names: Iterable[str]) -> str:
    """Find the file that defines the contract's functions by the names alone."""
    used = language(challenge.language)
    files = [name for name in names if name.endswith(used.suffix)]
    if used.entry in files:
        return used.entry
    sources = [name for name in files if not used.syntax.is_test(name)] or files
    if len(sources) != 1:
        found = f": {', '.join(sources[:SHOWN])}" if sources else ""
        raise SpecError(
            place, f"has {len(sources)} {used.suffix} files and no submission.toml; say which is the entry{found}",
            hint="name it:  --entry FILE, or entry= in Python",
        )  # fmt: skip
    return sources[0]
