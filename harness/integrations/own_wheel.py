"""A wheel and the pinned requirements of the running harness, to reproduce it elsewhere."""

import base64
import hashlib
import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from harness.errors import PrerequisiteError
from harness.workspace.bundled_challenges import BUNDLED, PACKAGE

DISTRIBUTION = "kernel-harness"
_TAG = "py3-none-any"
_MADE = (1980, 1, 1, 0, 0, 0)
"""Fixed time of every file, so that equal sources give equal bytes."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def wheel_name() -> str:
    """Return the file name of the wheel."""
    return f"{DISTRIBUTION.replace('-', '_')}-{_find_distribution().version}-{_TAG}.whl"


def wheel() -> bytes:
    """Return a wheel of the running package, without the bundled challenges.

    Raises:
        PrerequisiteError: the harness is not installed, so its metadata is missing.
    """
    own = _find_distribution()
    about = f"{DISTRIBUTION.replace('-', '_')}-{own.version}.dist-info"
    stated = "".join(f"{line}\n" for line in ("Wheel-Version: 1.0", "Root-Is-Purelib: true", f"Tag: {_TAG}"))
    files: dict[str, bytes] = {
        **_read_sources(PACKAGE),
        f"{about}/METADATA": (own.read_text("METADATA") or "").encode(),
        f"{about}/entry_points.txt": (own.read_text("entry_points.txt") or "").encode(),
        f"{about}/WHEEL": stated.encode(),
    }
    files[f"{about}/RECORD"] = _build_record(files, f"{about}/RECORD")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, _MADE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return made.getvalue()


def constraints() -> list[str]:
    """Return a sorted `name==version` for every installed requirement, direct or indirect.

    Pin them: other versions may change grades.
    """
    return sorted(f"{name}=={found.version}" for name, found in _collect_required(DISTRIBUTION, {}).items())


def _find_distribution() -> Distribution:
    try:
        return distribution(DISTRIBUTION)
    except PackageNotFoundError:
        raise PrerequisiteError(
            f"{PACKAGE} runs without having been installed, so nothing says what it requires\n"
            "  install it from a checkout: pip install -e PATH"
        ) from None


def _read_sources(package: Path) -> dict[str, bytes]:
    left_out = {"__pycache__", BUNDLED}
    paths = (path for path in sorted(package.rglob("*")) if not left_out & {*path.relative_to(package).parts})
    return {path.relative_to(package.parent).as_posix(): path.read_bytes() for path in paths if path.is_file()}


def _build_record(files: Mapping[str, bytes], itself: str) -> bytes:
    lines = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
        for name, data in files.items()
    ]
    return "\n".join([*lines, f"{itself},,", ""]).encode()


def _collect_required(name: str, seen: dict[str, Distribution]) -> Mapping[str, Distribution]:
    for wanted in _read_requirements(name):
        if wanted in seen:
            continue
        try:
            seen[wanted] = distribution(wanted)
        except PackageNotFoundError:  # required on another platform or Python version only
            continue
        _collect_required(wanted, seen)
    return seen


def _read_requirements(name: str) -> Iterator[str]:
    for line in distribution(name).requires or ():
        required, _, marker = line.partition(";")
        if "extra ==" not in marker and (found := _NAME.match(required)):
            yield found[0].lower()
