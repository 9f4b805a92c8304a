"""What is uploaded to a package index builds from the checkout, is checked strictly, and holds what it needs."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*words: str) -> str:
    env = {**os.environ, "PIP_NO_INDEX": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_distributions_build_and_pass_the_check(tmp_path: Path) -> None:
    if missing := [name for name in ("build", "twine") if find_spec(name) is None]:
        pytest.skip(f"nothing was built: {' and '.join(missing)} missing\n  try: pip install -e '.[release]'")
    run("build", "--no-isolation", "--outdir", str(tmp_path), ".")
    (wheel,), (source,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    assert run("twine", "check", "--strict", str(wheel), str(source)).count("PASSED") == 2
    built = set(zipfile.ZipFile(wheel).namelist())
    challenges = {path.parent.name for path in (ROOT / "challenges").glob("*/challenge.toml")}
    assert {f"harness/bundled/challenges/{id}/challenge.toml" for id in challenges} <= built
    assert "harness/py.typed" in built and not [name for name in built if "__pycache__" in name]
    with tarfile.open(source) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"} <= names
    assert not [name for name in names if name.startswith((".venv", ".harness", "site/")) or "__pycache__" in name]


def test_the_changelog_speaks_of_each_release_in_short() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert [release[: release.index("]") + 1] for release in releases][-2:] == ["[0.2.0]", "[0.1.0]"]
    for release in releases:
        assert len(release.rstrip().splitlines()) <= 60, release[:9]
        assert all(len(line) <= 120 for line in release.splitlines())
