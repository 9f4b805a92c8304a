"""A collection of one answer, and the small git repository that it is published in."""

import hashlib
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.workspace import Workspace
from tests.toy import CHALLENGE_ID, REFERENCE

NAME = f"m/{CHALLENGE_ID}"
ADAPTER = "from theirs import scaled\n"
FILES = {"theirs.py": REFERENCE.encode(), "docs/NOTES.md": b"It sums the rows and scales what comes out.\n"}
Files = Mapping[str, bytes]


def git(folder: Path, *arguments: str) -> str:
    identity = {f"GIT_{who}_{what}": "tests" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    neutral = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], env={**os.environ, **identity, **neutral}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def commit(clone: Path, files: Files) -> str:
    """Commit files under `answers/first`; the commit's id."""
    for name, data in files.items():
        path = clone / "answers" / "first" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "answers")
    return git(clone, "rev-parse", "HEAD")


@dataclass(frozen=True)
class Published:
    """A workspace with the collection `published`, and a clone that has its commit.

    Attributes:
        workspace: holds the challenge, the manifest and the adapter.
        clone: the repository.
        commit: the version that the manifest names.
    """

    workspace: Workspace
    clone: Path
    commit: str

    @property
    def manifest(self) -> Path:
        return self.workspace.root / "submissions" / "collections" / "published" / "collection.toml"

    @property
    def folder(self) -> Path:
        """Where the answer lies once it is fetched."""
        return self.workspace.fetched_folder("published") / NAME

    def state(self, files: Files = FILES, *, commit: str = "", redistribute: bool = False) -> None:
        """Write the manifest."""
        hashes = "\n".join(f'"{name}" = "{hashlib.sha256(data).hexdigest()}"' for name, data in files.items())
        self.manifest.write_text(f"""
id = "published"
title = "Answers of one model"
repository = "https://127.0.0.1:9/nobody/answers.git"
commit = "{commit or self.commit}"
licence = "none stated"
redistribute = {str(redistribute).lower()}
dispute = "Open an issue."
[[answers]]
model = "m"
challenge = "{CHALLENGE_ID}"
folder = "answers/first"
adapter = "adapter.py"
decides = "Nothing but the name of the file."
[answers.files]
{hashes}
""")
