"""Content keys of grades."""

import functools
import hashlib
import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import harness
from harness.languages import CPU, Device
from harness.model import Environment, TierChoice
from harness.sandbox import hash_folder
from harness.workspace import Workspace
from harness.workspace.bundled_challenges import BUNDLED, PACKAGE

PROMPT = "PROMPT.md"
"""Text shown to models; it affects no mark."""
MEASURING = ("numpy", "scipy", "pytest", "ruff", "lizard")


@functools.cache
def environment(
    isolation: TierChoice, device: Device = CPU, compilers: tuple[tuple[str, str], ...] = ()
) -> Environment:
    """Return the environment of grades made now.

    Args:
        compilers: names and versions.
    """
    return Environment(
        tier=isolation.tier,
        unused_tiers=isolation.unused,
        device=device.name,
        passed_over=device.passed_over,
        cpu=_read_processor(),
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        packages={name: _find_version(name) for name in MEASURING} | dict(compilers),
        harness=harness.__version__,
    )


def content_key(
    workspace: Workspace,
    challenge: str,
    files: Mapping[str, str],
    settings: Mapping[str, object],
    where: Environment | None,
) -> str:
    """Return a hash of everything a grade depends on except its seed.

    Args:
        files: SHA-256 by relative path.
        settings: options that change what is run.
        where: None for a hash without the environment.
    """
    own, references, *shared = _hash_challenge(workspace, challenge)
    parts = {
        "submission": dict(files),
        "challenge": own,
        "references": references,
        **({"shares": shared} if shared else {}),
        "harness": _hash_package(),
        "settings": dict(settings),
        # reasons against stronger tiers affect no mark, and their wording varies
        "environment": where and where.model_dump(mode="json", exclude={"unused_tiers", "passed_over"}),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def probe_set(workspace: Workspace, challenge: str, *, fresh: bool = False) -> str:
    """Return a hash of a challenge's folder, without the prompt, of its references, and of what it shares of another.

    Args:
        fresh: true to bypass this process's cache.
    """
    hashes = _hash_challenge(workspace, challenge, fresh=fresh)
    own, references, *shared = [{n: hash for n, hash in each.items() if n != PROMPT} for each in hashes]
    parts = {"challenge": own, "references": references} | ({"shares": shared} if shared else {})
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@functools.cache
def source_of_harness() -> str:
    """Return a hash of the harness's source."""
    return hashlib.sha256(json.dumps(_hash_package(), sort_keys=True).encode()).hexdigest()


def _hash_challenge(workspace: Workspace, challenge: str, *, fresh: bool = False) -> list[dict[str, str]]:
    """Return the hashes of each folder that a challenge's code comes from."""
    find, hashes = (_find_folders.__wrapped__, _hashes.__wrapped__) if fresh else (_find_folders, _hashes)
    return [hashes(folder) for folder in find(workspace, challenge)]


@functools.cache
def _find_folders(workspace: Workspace, challenge: str) -> list[str]:
    return list(map(str, workspace.folders_of_challenge(challenge).values()))


@functools.cache
def _hashes(folder: str) -> dict[str, str]:
    return hash_folder(Path(folder)) if os.path.isdir(folder) else {}


@functools.cache
def _hash_package() -> dict[str, object]:
    # bundled challenges are left out: `content_key` hashes the one in use
    places = [place for place in sorted(PACKAGE.iterdir()) if place.name not in (BUNDLED, "__pycache__")]
    files = {place.name: hashlib.sha256(place.read_bytes()).hexdigest() for place in places if place.is_file()}
    return files | {place.name: _hashes(str(place)) for place in places if place.is_dir()}


def _find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _read_processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
