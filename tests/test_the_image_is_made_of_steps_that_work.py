"""The steps of the Dockerfile, run one by one in a clean root without a network, make an image that can grade.

bubblewrap stands for the container. The system and Python of this machine stand for the image's, and pip finds what the
package needs in the environment of the tests. What needs a network is checked as far as it can be without one.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.installed import OFFLINE, empty_environment

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "docs" / "docker"
BROUGHT = {"bubblewrap": "bwrap", "g++": "g++"}
"""Commands of the Debian packages that the image installs."""
PYTHON = "/opt/python"
"""Where the root has its Python, the image's own."""
SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/login.defs",
)


def instructions() -> Iterator[tuple[str, str]]:
    """Instructions with their arguments; continued lines as one."""
    text = (PLACE / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        if line:
            word, _, rest = line.partition(" ")
            yield word, rest


@dataclass
class Image:
    """A root folder, and what instructions set for those after them."""

    root: Path
    user: str = "root"
    folder: str = "/"

    def run(self, line: str) -> "subprocess.CompletedProcess[str]":
        shown = [place for place in (*SYSTEM, sys.base_prefix, sys.prefix) if os.path.exists(place)]
        words = ["bwrap", "--bind", str(self.root), "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
        words += [word for place in shown for word in ("--ro-bind", place, place)]
        words += ["--unshare-net", "--unshare-pid", "--clearenv", "--chdir", self.folder]
        words += ["--setenv", "PATH", f"{PYTHON}/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        home = "/root" if self.user == "root" else f"/home/{self.user}"
        for name, value in {**OFFLINE, "HOME": home}.items():
            words += ["--setenv", name, value]
        change = ("setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups")
        words += [*(() if self.user == "root" else change), "/bin/sh", "-c", line]
        return subprocess.run(words, capture_output=True, text=True, timeout=280, check=False)

    def copy(self, target: str) -> None:
        """Copy the context: what the file of exceptions lets through."""
        kept = re.findall(r"^!(\S+)$", (PLACE / "Dockerfile.dockerignore").read_text(encoding="utf-8"), re.MULTILINE)
        place = self.root / target.strip("/")
        place.mkdir(parents=True)
        for name in kept:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, place)

    def enter(self, folder: str) -> None:
        self.folder = folder
        (self.root / folder.strip("/")).mkdir(parents=True, exist_ok=True)


@pytest.fixture
def image(tmp_path: Path) -> Image:
    if shutil.which("bwrap") is None or os.geteuid() != 0:
        pytest.skip("the steps of the Dockerfile were not run: that takes bubblewrap and root, to add a user")
    root = tmp_path / "root"
    # places of what is shown, too: bubblewrap would make their parents for root alone
    for name in ("etc", "root", "home", "var/mail", "tmp", sys.base_prefix, sys.prefix):
        (root / name.strip("/")).mkdir(parents=True, exist_ok=True)
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc" / "group").write_text("root:x:0:\n")
    empty_environment(root / PYTHON.strip("/"))
    return Image(root)


def test_each_step_works_and_the_image_can_grade(image: Image) -> None:
    entry = command = ""
    for word, rest in instructions():
        match word:
            case "FROM":
                version = re.search(r"python:3\.(\d+)-", rest)
                assert version and 11 <= int(version[1]) <= 13
            case "COPY":
                source, target = rest.split()
                assert source == "."
                image.copy(target)
            case "USER":
                image.user = rest
            case "WORKDIR":
                image.enter(rest)
            case "ENTRYPOINT":
                entry = rest
            case "CMD":
                command = rest
            case "RUN" if rest.startswith("apt-get"):
                packages = re.search(r"--no-install-recommends (.*?) &&", rest)
                assert packages and {*packages[1].split()} == {*BROUGHT} and all(map(shutil.which, BROUGHT.values()))
            case _:
                assert word == "RUN", word
                done = image.run(rest)
                assert done.returncode == 0, f"{rest}\n{done.stdout}\n{done.stderr}"
    assert (entry, command, image.user) == ('["harness"]', '["doctor"]', "grader")
    told = image.run("harness doctor")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "layernorm_backward" in image.run("harness ls challenges").stdout
    compiled = list((image.root / "home" / "grader").rglob("*.o"))
    assert compiled, "the emulated device was not compiled for the user of the image"


def test_the_line_of_make_that_builds_the_device_names_what_is_there() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8").partition("define WARM\n")[2].partition("endef")[0]
    imports = "\n".join(line for line in text.splitlines() if line.startswith("from "))
    assert imports
    subprocess.run([sys.executable, "-c", f"{imports}\narchive.runtime, host_compiler.host_compiler"], check=True)
