"""What makes two grades the same: a hash of everything a grade depends on but its seed."""

import functools
import hashlib
import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import harness
from harness.bundled_challenges import BUNDLED, PACKAGE
from harness.languages import CPU, Device
from harness.model import Environment, TierChoice
from harness.sandbox import hash_folder
from harness.workspace import Workspace

PROMPT = "PROMPT.md"
"""What models are asked: it judges nothing."""
MEASURING = ("numpy", "scipy", "pytest", "ruff", "lizard")


@functools.cache
def environment(
    isolation: TierChoice, device: Device = CPU, compilers: tuple[tuple[str, str], ...] = ()
) -> Environment:
    """Describe where a grade is made now, with the versions that move marks.

    Args:
        isolation: the tier that the answer runs in, and why in no stronger one.
        device: what runs it.
        compilers: name and version of each that it meets.
    """
    return Environment(
        tier=isolation.tier,
        unused_tiers=isolation.unused,
        device=device.name,
        passed_over=device.passed_over,
        cpu=_processor(),
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        packages={name: _version(name) for name in MEASURING} | dict(compilers),
        harness=harness.__version__,
    )


def content_key(
    workspace: Workspace,
    challenge: str,
    files: Mapping[str, str],
    settings: Mapping[str, object],
    where: Environment | None,
) -> str:
    """Hash of everything a grade depends on but its seed.

    Args:
        workspace: where the challenge is.
        challenge: its id.
        files: SHA-256 of the submission's files by relative path.
        settings: options that change what is run.
        where: the environment of the grade; None for a hash of all but that.
    """
    parts = {
        "submission": dict(files),
        "challenge": _hashes(str(workspace.challenge_folder(challenge))),
        "references": _hashes(str(workspace.reference_folder(challenge))),
        "harness": _hashes_of_package(),
        "settings": dict(settings),
        # why a stronger tier was not used moves no mark, and may be put in other words each time
        "environment": where and where.model_dump(mode="json", exclude={"unused_tiers", "passed_over"}),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def probe_set(workspace: Workspace, challenge: str, *, fresh: bool = False) -> str:
    """Version of what answers to a challenge are held to: a hash of its folder but the prompt, and of its references.

    Args:
        workspace: where the challenge is.
        challenge: its id.
        fresh: whether the files are read again, though this process hashed them before.
    """
    hashes = _hashes.__wrapped__ if fresh else _hashes
    own, references = hashes(str(workspace.challenge_folder(challenge))), workspace.reference_folder(challenge)
    judging = {name: hash for name, hash in own.items() if name != PROMPT}
    parts = {"challenge": judging, "references": hashes(str(references))}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@functools.cache
def source_of_harness() -> str:
    """Hash of the harness itself."""
    return hashlib.sha256(json.dumps(_hashes_of_package(), sort_keys=True).encode()).hexdigest()


@functools.cache
def _hashes(folder: str) -> dict[str, str]:
    return hash_folder(Path(folder)) if os.path.isdir(folder) else {}


@functools.cache
def _hashes_of_package() -> dict[str, object]:
    """Of the harness itself; its bundled challenges are hashed where one is graded."""
    places = [place for place in sorted(PACKAGE.iterdir()) if place.name not in (BUNDLED, "__pycache__")]
    files = {place.name: hashlib.sha256(place.read_bytes()).hexdigest() for place in places if place.is_file()}
    return files | {place.name: _hashes(str(place)) for place in places if place.is_dir()}


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
