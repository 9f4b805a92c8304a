"""A language is found by the name it is registered under; whatever stands in the way is named with a remedy."""

import runpy
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import metadata
from pathlib import Path

import pytest

from harness.cuda.compilers import nvcc
from harness.errors import NotFoundError, PrerequisiteError, SpecError
from harness.languages import every_language, language
from harness.languages.cuda import EXTRAS
from harness.workspace import LANGUAGES, Workspace

Register = Callable[[str, str, str], None]


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Register]:
    """Installs a package with one module that registers a language."""

    def install(name: str, value: str, source: str) -> None:
        info = tmp_path / "other-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{LANGUAGES}]\n{name} = {value}\n")
        (tmp_path / "other_language.py").write_text(source)
        monkeypatch.syspath_prepend(str(tmp_path))

    language.cache_clear()
    yield install
    language.cache_clear()
    sys.modules.pop("other_language", None)


def test_each_language_answers_to_its_name() -> None:
    assert {used.name for used in every_language()} == {"cuda", "python"}
    assert all(language(used.name) is used for used in every_language())


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(NotFoundError, match="no language 'pyton'; did you mean 'python'") as error:
        language("pyton")
    assert "languages are cuda, python" in str(error.value)


def test_a_challenge_in_an_unknown_language_names_file_field_and_the_nearest(toy) -> None:
    path = toy.workspace.challenge_folder("scaled_sum") / "challenge.toml"
    path.write_text('language = "cude"\n' + path.read_text())
    with pytest.raises(SpecError, match="language: no language 'cude'; did you mean 'cuda'") as error:
        Workspace(toy.workspace.root).challenge("scaled_sum")
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("value", "source", "words"),
    [
        ("other_language:OTHER", "import nothing_like_this\n", "ModuleNotFoundError"),
        ("other_language:OTHER", "", "AttributeError"),
        ("harness.languages.python:PYTHON", "", "calls itself 'python'"),
    ],
)
def test_a_language_that_does_not_load_is_named_with_the_reason(
    register: Register, value: str, source: str, words: str
) -> None:
    register("other", value, source)
    with pytest.raises(PrerequisiteError, match=f"language 'other': {value} .*{words}"):
        language("other")


def test_every_missing_tool_is_an_extra_of_this_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(nvcc, "lacking", lambda: ("zig", "nvrtc"))
    runpy.run_module("harness.languages", run_name="__main__")
    listed = [line.split(" ", 2) for line in capsys.readouterr().out.splitlines()]
    assert [(extra, int(size)) for extra, size, _ in listed] == [("zig", 101), ("nvrtc", 65)]
    assert set(EXTRAS) <= set(metadata("kernel-harness").get_all("Provides-Extra") or ())
