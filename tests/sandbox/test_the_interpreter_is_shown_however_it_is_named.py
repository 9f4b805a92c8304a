"""However Python was named when it was started, every tier that works here works, and holds what it promises."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.interpreter import EXECUTABLE, locate
from harness.model import Tier
from harness.sandbox.session.tiers import FORCED, why_not

WORKING = [tier for tier in Tier if tier.trusted and why_not(tier) is None]
ANSWER = """
def f():
    import zipapp  # read from the interpreter's own folder, which is no conduct to report
    return zipapp.__name__
"""
PROGRAM = """
import json, os, sys
from pathlib import Path
from harness.model import Limits, Tier
from harness.sandbox import WorkerSession, Scalar, WorkerSpec, detect, run
from harness.sandbox.self_test import breaches

folder, elsewhere, tiers = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
os.chdir(elsewhere or ".")
said = {"chosen": detect().value}
for tier in map(Tier, tiers):
    with WorkerSession(WorkerSpec(folder, "answer.py", ("f",), Limits(), tier)) as box:
        opened = box.open().text
        reply = box.call("f", returns=Scalar(str))
        done = run(["python", "-c", "import numpy; print('ran')"], folder, tier=tier, seconds=30)
        said[tier] = [reply.value or opened or reply.text, [s.detail for s in box.signals], done.output.strip(),
                      list(breaches(tier))]
print(json.dumps(said))
"""


@dataclass(frozen=True)
class Start:
    """How a process is started: the word that names Python, where, with which PATH, and where it goes then."""

    program: str
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    elsewhere: str = ""


def linked(place: Path, target: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)
    return place


def relative(at: Path) -> Start:
    linked(at / "venv", Path(sys.prefix))
    return Start("../venv/bin/python", at / "work")


def far_up(at: Path) -> Start:
    return Start(os.path.join(os.path.relpath(sys.prefix, at / "work"), "bin", "python"), at / "work")


def linked_folder(at: Path) -> Start:
    return Start(str(linked(at / "link", Path(sys.prefix)) / "bin" / "python"), at)


def linked_parent(at: Path) -> Start:
    parent = linked(at / "deep" / "parent", Path(sys.prefix).parent)
    return Start(str(parent / Path(sys.prefix).name / "bin" / "python"), at)


def relative_on_path(at: Path) -> Start:
    linked(at / "venv", Path(sys.prefix))
    return Start("python", at / "work", {"PATH": f"../venv/bin:{os.environ['PATH']}"})


def gone_elsewhere(at: Path) -> Start:
    start = relative_on_path(at)
    return Start(start.program, start.folder, start.variables, elsewhere="/")


def environment(at: Path, program: Path, home: Path) -> Path:
    """A virtual environment of other links than `venv` makes, with the packages of this one."""
    (at / "own").mkdir()
    (at / "own" / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\n")
    linked(at / "own" / "lib", Path(sys.prefix) / "lib")
    return linked(at / "own" / "bin" / "python", program)


def chain(at: Path) -> Start:
    """Links from folder to folder, and a home that is reached by a link."""
    base = linked(at / "versions" / "3", Path(sys.base_prefix))
    last = linked(at / "b" / "python3", base / "bin" / f"python3.{sys.version_info.minor}")
    program = environment(at, linked(at / "a" / "python", Path("..", "b", last.name)), base / "bin")
    return Start(str(program), at)


def linked_programs(at: Path) -> Start:
    """An environment whose folder of programs lies elsewhere."""
    base = Path(sys.base_prefix, "bin")
    environment(at, base / f"python3.{sys.version_info.minor}", base)
    (at / "own" / "bin").rename(at / "programs")
    linked(at / "own" / "bin", at / "programs")
    return Start("own/bin/python", at)


STARTS = (
    relative, far_up, linked_folder, linked_parent, relative_on_path, gone_elsewhere, chain, linked_programs,
)  # fmt: skip


@pytest.mark.parametrize("start", STARTS, ids=lambda start: start.__name__)
def test_every_tier_works_and_the_strongest_is_chosen(tmp_path, start):
    (tmp_path / "work").mkdir()
    (tmp_path / "answer").mkdir()
    (tmp_path / "answer" / "answer.py").write_text(ANSWER)
    how = start(tmp_path)
    clean = {name: value for name, value in os.environ.items() if name != FORCED}
    done = subprocess.run(
        [how.program, "-c", PROGRAM, str(tmp_path / "answer"), how.elsewhere, *WORKING],
        cwd=how.folder, env=clean | how.variables, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    works = {tier.value: ["zipapp", [], "ran", []] for tier in WORKING}
    assert json.loads(done.stdout) == {"chosen": WORKING[0].value, **works}


def test_a_grading_process_starts_from_wherever_this_one_went(tmp_path):
    (tmp_path / "work").mkdir()
    how = gone_elsewhere(tmp_path)
    program = """if True:
        import os, subprocess, harness
        os.chdir("/")
        print(subprocess.check_output([harness.interpreter.EXECUTABLE, "-c", "print(5)"], text=True))
    """
    done = subprocess.run(
        [how.program, "-c", program], cwd=how.folder, env=os.environ | how.variables, capture_output=True, text=True
    )
    assert done.stdout.strip() == "5", done.stderr


def test_the_last_link_stays_and_the_folders_are_resolved(tmp_path, monkeypatch):
    real = tmp_path / "real" / "bin"
    real.mkdir(parents=True)
    (real / "python3.11").touch()
    linked(real / "python", Path("python3.11"))
    linked(tmp_path / "link", tmp_path / "real")
    monkeypatch.chdir(real.parent)
    names = ("bin/python", "../link/bin/python", f"{tmp_path}/real/../link/bin/python", f"{tmp_path}/link/bin/python")
    assert {locate(name, str(tmp_path / "link")) for name in names} == {str(real / "python")}
    assert {locate(name, "/usr") for name in names} == {str(real / "python")}
    assert Path(EXECUTABLE).is_absolute() and Path(EXECUTABLE).samefile(sys.executable)
