"""The pages of docs/ become a site: every page has its place, and every link between them leads to a heading."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SETTINGS = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_every_page_has_one_place() -> None:
    listed = re.findall(r"[\w-]+\.md", SETTINGS.partition("\nnav:\n")[2])
    assert sorted(listed) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    if find_spec("material") is None:
        pytest.skip("the site was not built: MkDocs Material is missing\n  try: pip install -e '.[docs]'")
    words = (sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(ROOT / "mkdocs.yml"))
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run([*words, "--site-dir", str(tmp_path)], env=env, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert all((tmp_path / page / "index.html").is_file() for page in pages) and (tmp_path / "index.html").is_file()
    assert not list(tmp_path.rglob("*.py"))
    loaded = re.findall(
        r"<(?:script|link|img)[^>]*(?:src|href)=\"?(?:https?:)?//", (tmp_path / "index.html").read_text()
    )
    assert not loaded
