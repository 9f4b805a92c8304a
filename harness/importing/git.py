"""Files of one commit, read from git's objects."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import NotFoundError, PrerequisiteError
from harness.sandbox.confinement import scratch

FETCH_SECONDS = 600.0
"""Seconds after which a fetch is ended."""
_SLOW = ("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=30")
_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",  # replace refs swap an object behind its id
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
_REDIRECTING = "DIR WORK_TREE INDEX_FILE OBJECT_DIRECTORY ALTERNATE_OBJECT_DIRECTORIES COMMON_DIR NAMESPACE"
_ELSEWHERE = frozenset(f"GIT_{name}" for name in _REDIRECTING.split())
"""Variables, set inside git hooks, that redirect git to another repository."""


class Clone:
    """A local git repository, bare or not, at one commit.

    Raises:
        PrerequisiteError: git is not installed.
        NotFoundError: the repository or the commit is missing.
    """

    def __init__(self, path: Path, commit: str) -> None:
        self._path = path
        self._commit = commit
        if not path.is_dir():
            raise NotFoundError(f"--from: {path} is no folder\n  name a clone of the repository, or leave --from out")
        opened = _run_git("-C", str(path), "rev-parse", "--git-dir")
        if opened.returncode:
            raise NotFoundError(
                f"--from: {path} is no git repository that can be read: {_get_last_line(opened.stderr)}\n"
                "  name a clone of the repository, or leave --from out"
            )
        if _run_git("-C", str(path), "cat-file", "-e", f"{commit}^{{commit}}").returncode:
            raise NotFoundError(self._describe_missing_commit())

    def file(self, path: str) -> bytes | None:
        """Return a file's committed bytes, or None."""
        done = _run_git("-C", str(self._path), "cat-file", "blob", f"{self._commit}:{path}")
        return None if done.returncode else done.stdout

    def files(self, folder: str) -> list[str]:
        """Return the paths below a folder of the commit."""
        done = _run_git(
            "-C", str(self._path), "ls-tree", "-r", "-z", "--name-only", "--full-tree", self._commit, folder
        )
        return [path for path in done.stdout.decode(errors="replace").split("\0") if path]

    def _describe_missing_commit(self) -> str:
        shallow = _run_git("-C", str(self._path), "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
        kind = "is a shallow clone without" if shallow else "has no"
        return (
            f"--from: {self._path} {kind} commit {self._commit}\n  try: git -C {self._path} fetch origin {self._commit}"
        )


@contextmanager
def fetch_commit(repository: str, commit: str) -> Iterator[Clone]:
    """Fetch one commit of a remote repository for the length of the block.

    Raises:
        PrerequisiteError: git is missing, or the fetch fails.
    """
    with scratch.folder() as place:
        made = _run_git("init", "--quiet", "--bare", str(place))
        if made.returncode:
            raise PrerequisiteError(f"git cannot make a repository in {place}: {_get_last_line(made.stderr)}")
        try:
            done = _run_git(*_SLOW, "-C", str(place), "fetch", "--quiet", "--depth", "1", repository, commit)
            problem = _get_last_line(done.stderr) if done.returncode else ""
        except subprocess.TimeoutExpired:
            problem = f"no end within {FETCH_SECONDS:g} s"
        if problem:
            raise PrerequisiteError(
                f"{repository}: commit {commit} cannot be fetched: {problem}\n"
                "  with a clone that has it:  harness import collection ID --from CLONE"
            )
        yield Clone(place, commit)


def _run_git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("git")
    if program is None:
        raise PrerequisiteError("git is not installed, and collections are read with it\n  try: apt-get install git")
    given = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    return subprocess.run(
        [program, *arguments],
        env=given | _QUIET,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=FETCH_SECONDS,
    )


def _get_last_line(text: bytes) -> str:
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "git says nothing"
