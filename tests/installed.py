"""The package installed without a network: what it needs comes from the environment of the tests."""

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

OFFLINE = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_CONFIG_FILE": os.devnull}
"""Variables that make pip build a package with what is there; this 0 is pip's way to say that there is no isolation."""


def needed(name: str, seen: set[str] | None = None, without: str = "") -> Iterator[Distribution]:
    """What an installation of `name` brings along, by the packages of this environment, `without` one of them."""
    seen = set() if seen is None else seen
    for line in distribution(name).requires or ():
        requirement = Requirement(line)
        asked = not requirement.marker or requirement.marker.evaluate({"extra": ""})
        if asked and requirement.name.lower() not in {*seen, without}:
            seen.add(requirement.name.lower())
            yield distribution(requirement.name)
            yield from needed(requirement.name, seen, without)


def empty_environment(folder: Path) -> Path:
    """Make an environment without the package, whose pip finds the packages of this one; return its commands."""
    venv.create(folder, symlinks=True, with_pip=True)
    packages = next((folder / "lib").glob("python3*/site-packages"))
    # without the finder of the package in this environment, which would serve it from the checkout
    outer = Path(sysconfig.get_path("purelib"))
    (packages / "outer.pth").write_text(f"{outer}\n")
    return folder / "bin"


def shell(line: str, cwd: Path, commands: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a line of bash as GitHub's runners do, with `commands` in front of PATH and no network for pip."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HARNESS_", "PYTHON", "PIP_"))}
    env = kept | OFFLINE | variables | {"PATH": f"{commands}:{os.environ['PATH']}"}
    words = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", line)
    return subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=280, check=False)


def as_command(folder: Path) -> Path:
    """Make a `harness` that runs this checkout; return its folder."""
    folder.mkdir()
    script = folder / "harness"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m harness "$@"\n')
    script.chmod(0o755)
    return folder
