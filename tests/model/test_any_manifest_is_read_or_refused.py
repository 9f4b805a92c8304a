"""Whatever a manifest holds, it is read or refused with the file's name, never a crash; what was read reads back."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trees import changed, document, texts, trees

from harness.errors import SpecError
from harness.model import Challenge, Submission
from harness.model.base import Model
from harness.model.manifest import read_toml
from harness.workspace import Workspace
from tests import shares

CHALLENGES = Path(__file__).parents[2] / "challenges"
SUBMISSION = {
    "submission": {
        "model": "m", "challenge": "kv_cache", "language": "python", "entry": "answer.py",
        "provenance": "model-output", "generator": "g", "notes": "n",
    },
    "capabilities": {"gqa": True, "paged": {"page_size": 16}, "quantized": ["int8"], "max_k": 4},
    "tests": {"command": ["python", "-m", "pytest"]},
    "claims": [{"quantity": "passes", "value": 1, "where": "answer.py"}],
}  # fmt: skip
CHALLENGE = tomllib.loads((CHALLENGES / "kv_cache" / "challenge.toml").read_text())
CHALLENGE["criteria"] = CHALLENGE["criteria"][:4]
CHALLENGE["dimensions"] = [
    d for d in CHALLENGE["dimensions"] if any(c["dimension"] == d["id"] for c in CHALLENGE["criteria"])
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    root = tmp_path_factory.mktemp("workspace")
    (root / "challenges" / "kv_cache").mkdir(parents=True)
    (root / "challenges" / "kv_cache" / "challenge.toml").write_text(document(CHALLENGE))
    (root / "answer").mkdir()
    (root / "answer" / "answer.py").touch()
    return Workspace(root)


def read_or_refused(workspace: Workspace, written: bytes) -> Submission | None:
    path = workspace.root / "answer" / "submission.toml"
    path.write_bytes(written)
    try:
        return workspace.submission(path.parent)
    except SpecError as error:
        assert str(path) in str(error)
        assert len(str(error)) < 2000, "a message fits a screen"
        str(error).encode()
        return None


def survives(model: Model) -> None:
    """What was read is the same after it was written, as JSON and as TOML."""
    assert type(model).model_validate_json(model.model_dump_json(by_alias=True)) == model
    plain = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert type(model).model_validate(tomllib.loads(document(plain))) == model


def test_the_manifests_at_hand_are_right(workspace):
    survives(read_or_refused(workspace, document(SUBMISSION).encode()))
    survives(workspace.challenge("kv_cache"))


@settings(max_examples=shares.examples(200))
@given(changed(SUBMISSION))
def test_a_changed_submission_toml(workspace, table: dict[str, Any]):
    read = read_or_refused(workspace, document(table).encode())
    if read is not None:
        survives(read)


@settings(max_examples=shares.examples(100))
@given(st.dictionaries(texts, trees, max_size=4).map(document) | st.text(max_size=200), st.data())
def test_any_toml_and_any_text(workspace, text: str, data: st.DataObject):
    read_or_refused(workspace, text.encode(errors="surrogatepass"))
    right = document(SUBMISSION)
    place = data.draw(st.integers(0, len(right)))
    read_or_refused(workspace, (right[:place] + text + right[place:]).encode(errors="surrogatepass"))


@settings(max_examples=shares.examples(100))
@given(st.binary(max_size=100))
@example(b"\xef\xbb\xbf[submission]")
@example(b"a = 9" + b"9" * 5000)
@example(b"a = " + b"{b = " * 3000 + b"1" + b"}" * 3000)
@example(b"[" + b"a." * 5000 + b"a]\n")
@example(b"x = 99999-12-31")
def test_any_bytes(workspace, written: bytes):
    assert read_or_refused(workspace, written) is None


@settings(max_examples=shares.examples(200))
@given(changed(CHALLENGE))
def test_a_changed_challenge_toml(workspace, table: dict[str, Any]):
    path = workspace.root / "challenge.toml"
    path.write_text(document(table))
    try:
        survives(read_toml(path, Challenge))
    except SpecError as error:
        assert str(path) in str(error) and len(str(error)) < 2000
