"""Records on disk: what makes two grades the same, and where finished ones are kept."""

import functools
import hashlib
import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import harness
from harness.errors import StoreError
from harness.model import Environment, Record, Status
from harness.sandbox import Tier, hash_folder
from harness.workspace import Workspace, read_stored, write_atomically

MEASURING = ("numpy", "scipy", "pytest", "ruff", "lizard")


@functools.cache
def environment(tier: Tier, device: str = "cpu", compilers: tuple[tuple[str, str], ...] = ()) -> Environment:
    """Where a grade is made now, with the versions that move marks.

    Args:
        tier: isolation the answer runs in.
        device: what runs it.
        compilers: name and version of each that it meets.
    """
    return Environment(
        tier=tier.value,
        device=device,
        cpu=_processor(),
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        packages={name: _version(name) for name in MEASURING} | dict(compilers),
        harness=harness.__version__,
    )


def content_key(
    workspace: Workspace, challenge: str, files: Mapping[str, str], settings: Mapping[str, object], where: Environment
) -> str:
    """Hash of everything a grade depends on but its seed.

    Args:
        workspace: where the challenge is.
        challenge: its id.
        files: SHA-256 of the submission's files by relative path.
        settings: options that change what is run.
        where: the environment of the grade.
    """
    parts = {
        "submission": dict(files),
        "challenge": _hashes(str(workspace.challenge_folder(challenge))),
        "references": _hashes(str(workspace.reference_folder(challenge))),
        "harness": _hashes(str(Path(harness.__file__).parent)),
        "settings": dict(settings),
        "environment": where.model_dump(mode="json"),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def reusable(workspace: Workspace, key: str) -> Record | None:
    """The record made on this machine under this key, when it may stand for a new grade."""
    path = _kept(workspace, key)
    if not path.is_file():
        return None
    try:
        record = read_stored(path, Record)
    except StoreError:
        return None
    return record if record.key == key and record.ranked and record.status is not Status.JUDGE_ERROR else None


def remember(workspace: Workspace, record: Record) -> None:
    """Keep a record for reuse on this machine.

    Raises:
        StoreError: it cannot be written.
    """
    if record.ranked and record.status is not Status.JUDGE_ERROR:
        write_atomically(_kept(workspace, record.key), record.to_json())


def publish(workspace: Workspace, record: Record) -> Path:
    """Put a record under reports/records/, where reports are made from.

    A failure of ours does not take the place of a finished grade of the same files in the same environment.

    Raises:
        StoreError: it cannot be written.
    """
    path = workspace.record_path(record.model, record.challenge)
    text = record.to_json()
    try:
        published = path.read_bytes()
    except OSError:
        published = b""
    if published != text.encode() and not (record.status is Status.JUDGE_ERROR and _outlives(published, record.key)):
        write_atomically(path, text)
    return path


def _outlives(published: bytes, key: str) -> bool:
    """Whether these bytes are a finished record of that key."""
    try:
        before = Record.from_json(published)
    except ValueError:
        return False
    return before.key == key and before.status is not Status.JUDGE_ERROR


def _kept(workspace: Workspace, key: str) -> Path:
    return workspace.cache_folder / "records" / f"{key}.json"


@functools.cache
def _hashes(folder: str) -> dict[str, str]:
    return hash_folder(Path(folder)) if os.path.isdir(folder) else {}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
