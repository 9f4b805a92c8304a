"""The wheel of the harness that runs, and what it runs with: who installs both grades as this machine does."""

import base64
import hashlib
import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from harness.bundled_challenges import BUNDLED, PACKAGE
from harness.errors import PrerequisiteError

DISTRIBUTION = "kernel-harness"
_TAG = "py3-none-any"
_MADE = (1980, 1, 1, 0, 0, 0)
"""The time of every file in it, so that equal sources make equal bytes."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def wheel_name() -> str:
    """The file name of the wheel, by which pip knows what it is."""
    return f"{DISTRIBUTION.replace('-', '_')}-{_own().version}-{_TAG}.whl"


def wheel() -> bytes:
    """The package as it runs here, without the bundled challenges.

    Raises:
        PrerequisiteError: it was never installed, so nothing says what it requires.
    """
    own = _own()
    about = f"{DISTRIBUTION.replace('-', '_')}-{own.version}.dist-info"
    stated = "".join(f"{line}\n" for line in ("Wheel-Version: 1.0", "Root-Is-Purelib: true", f"Tag: {_TAG}"))
    files: dict[str, bytes] = {
        **_sources(PACKAGE),
        f"{about}/METADATA": (own.read_text("METADATA") or "").encode(),
        f"{about}/entry_points.txt": (own.read_text("entry_points.txt") or "").encode(),
        f"{about}/WHEEL": stated.encode(),
    }
    files[f"{about}/RECORD"] = _record(files, f"{about}/RECORD")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, _MADE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return made.getvalue()


def constraints() -> list[str]:
    """`name==version` of everything installed here that the harness requires, directly or not, sorted.

    Marks may move with these versions.
    """
    return sorted(f"{name}=={found.version}" for name, found in _required(DISTRIBUTION, {}).items())


def _own() -> Distribution:
    try:
        return distribution(DISTRIBUTION)
    except PackageNotFoundError:
        raise PrerequisiteError(
            f"{PACKAGE} runs without having been installed, so nothing says what it requires\n"
            "  install it from a checkout: pip install -e PATH"
        ) from None


def _sources(package: Path) -> dict[str, bytes]:
    """Every file of the package by its place in the wheel, in order; none that was compiled here, and no challenge."""
    left_out = {"__pycache__", BUNDLED}
    paths = (path for path in sorted(package.rglob("*")) if not left_out & {*path.relative_to(package).parts})
    return {path.relative_to(package.parent).as_posix(): path.read_bytes() for path in paths if path.is_file()}


def _record(files: Mapping[str, bytes], itself: str) -> bytes:
    """The list of files that a wheel carries, with their hashes."""
    lines = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
        for name, data in files.items()
    ]
    return "\n".join([*lines, f"{itself},,", ""]).encode()


def _required(name: str, seen: dict[str, Distribution]) -> Mapping[str, Distribution]:
    """What an installation of `name` brings along, as far as it is here; extras are left out."""
    for wanted in _requirements(name):
        if wanted in seen:
            continue
        try:
            seen[wanted] = distribution(wanted)
        except PackageNotFoundError:  # for another platform or version of Python
            continue
        _required(wanted, seen)
    return seen


def _requirements(name: str) -> Iterator[str]:
    for line in distribution(name).requires or ():
        required, _, marker = line.partition(";")
        if "extra ==" not in marker and (found := _NAME.match(required)):
            yield found[0].lower()
