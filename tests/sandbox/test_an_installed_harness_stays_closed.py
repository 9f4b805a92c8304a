"""Installed among other packages, as by a wheel, no file of the harness can be read from inside; the others can.

Python imports nothing from a folder that it cannot list. So the folder around may be listed, and no more.
"""

import json
import os
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.model import Tier
from harness.sandbox.session.tiers import why_not
from tests.sandbox import fenced

WORKING = [tier.value for tier in Tier if tier.trusted and why_not(tier) is None]
ANSWER = """
import os

def names(place):
    return " ".join(os.listdir(place))

def read(place):
    try:
        with open(place) as file:
            return file.read()
    except OSError as error:
        return type(error).__name__
"""
COMMAND = """
import sys
for place in sys.argv[1:]:
    try:
        print(open(place).read()[:9])
    except OSError as error:
        print(type(error).__name__)
"""
PROGRAM = """
import json, sys
from pathlib import Path
import harness
from harness.model import Limits, Tier
from harness.sandbox import WorkerSession, Scalar, WorkerSpec, run
from harness.sandbox.self_test import breaches

folder, site = Path(sys.argv[1]), Path(harness.__file__).parents[1]
prefix = site.parents[2]
FILES = (
    "harness/__init__.py",
    "harness/sandbox/session/worker_session.py",
    "harness/sandbox/session/tiers.py",
    "harness/model/tier.py",
)
PLACES = [way / file for file in FILES for way in (site, prefix / "lib64" / site.relative_to(prefix / "lib"))]
said = {"site": str(site)}
for tier in map(Tier, sys.argv[2:]):
    with WorkerSession(WorkerSpec(folder, "answer.py", ("names", "read"), Limits(), tier)) as box:
        box.open()
        read = lambda place: box.call("read", str(place), returns=Scalar(str)).value
        said[tier] = {
            "listed": "numpy" in box.call("names", str(site), returns=Scalar(str)).value,
            "other": read(site / "numpy" / "version.py") == (site / "numpy" / "version.py").read_text(),
            "own": [read(place) for place in PLACES],
            "breaches": breaches(tier),
            "command": run(["python", "command.py", *map(str, PLACES)], folder, tier=tier, seconds=30).output.split(),
        }
print(json.dumps(said))
"""


def linked(source: str, target: str) -> str:
    """A second name for a file, a copy on another file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that has the harness and NumPy among its packages, and the rest from this one."""
    here, folder = Path(sysconfig.get_path("purelib")), tmp_path_factory.mktemp("installed") / "venv"
    venv.create(folder, symlinks=True)
    site = next((folder / "lib").glob("python3*/site-packages"))
    for name in ("numpy", "numpy.libs"):
        if (here / name).exists():
            shutil.copytree(here / name, site / name, copy_function=linked)
    package, caches = Path(harness.__file__).parent, shutil.ignore_patterns("__pycache__")

    def skip(place: str, names: list[str]) -> set[str]:
        bundled = {"challenges", "references"} if Path(place) == package else set()
        return caches(place, names) | bundled

    shutil.copytree(package, site / "harness", ignore=skip)
    (site / "rest.pth").write_text(f"{here}\n")
    return folder


@pytest.fixture(scope="module")
def seen(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an answer sees of it, by tier."""
    folder = tmp_path_factory.mktemp("answer")
    (folder / "answer.py").write_text(ANSWER)
    (folder / "command.py").write_text(COMMAND)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HARNESS", "PYTHON"))}
    done = subprocess.run(
        [installed / "bin" / "python", "-c", PROGRAM, folder, *WORKING], cwd="/", env=kept, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert Path(found["site"]).is_relative_to(installed)
    return found


@pytest.mark.parametrize("held", WORKING)
def test_no_file_of_the_harness_is_read(seen: dict[str, Any], held: str) -> None:
    refused = {"FileNotFoundError", "PermissionError"}
    assert set(seen[held]["own"]) <= refused and set(seen[held]["command"]) <= refused
    assert len(seen[held]["command"]) == 8
    assert seen[held]["breaches"] == []


@pytest.mark.parametrize("held", WORKING)
def test_the_packages_around_it_are_there(seen: dict[str, Any], held: str) -> None:
    assert seen[held]["listed"] and seen[held]["other"]


@fenced.needs_landlock
def test_a_folder_that_may_be_listed_may_be_no_more(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    for file in (tmp_path / "file", tmp_path / "below" / "file"):
        shutil.copy("/bin/true", file)
    shown = {"readable": fenced.INTERPRETER, "writable": [], "devices": [], "listable": [str(tmp_path)]}
    deeds = {
        "list": "os.listdir(WORLD['at'])", "list below": "os.listdir(WORLD['at'] + '/below')",
        "read": "open(WORLD['at'] + '/file')", "read below": "open(WORLD['at'] + '/below/file')",
        "run": "os.execv(WORLD['at'] + '/file', ['x'])", "run below": "os.execv(WORLD['at'] + '/below/file', ['x'])",
        "write": "open(WORLD['at'] + '/file', 'a')", "make": "os.mkdir(WORLD['at'] + '/new')",
    }  # fmt: skip
    said = fenced.answers(deeds, fenced.plan(seccomp=False, landlock=shown), {"at": str(tmp_path)})
    assert said == {deed: "done" if deed.startswith("list") else "EACCES" for deed in deeds}
