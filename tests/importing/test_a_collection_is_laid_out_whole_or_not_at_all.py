"""A collection's answers are laid out byte for byte as its manifest names them, all of them or none."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest
from collected_answers import ADAPTER, FILES, NAME, Published, commit, git

from harness.errors import HarnessError, NotFoundError, PrerequisiteError, SpecError
from harness.importing.collection import open_collection
from harness.importing.git import fetch_commit
from harness.importing.importer import lay_out
from harness.model import Provenance
from tests.commands import called
from tests.toy import CHALLENGE_ID


def import_(published: Published, clone: Path | None = None) -> list[Path]:
    with open_collection(published.workspace, "published", clone or published.clone) as importer:
        return lay_out(importer, published.workspace.fetched_folder("published"))


def refused(published: Published, clone: Path | None = None) -> str:
    """The message of an import that fails and leaves everything as it was."""
    before = contents(published.workspace.cache_folder)
    with pytest.raises(HarnessError) as error:
        import_(published, clone)
    assert contents(published.workspace.cache_folder) == before
    return str(error.value)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_files_named_lie_next_to_the_adapter_and_nothing_else_does(published: Published) -> None:
    commit(published.clone, {"unnamed.py": b"x = 1\n"})
    published.state(commit=git(published.clone, "rev-parse", "HEAD"))
    assert import_(published) == [published.folder]
    found = contents(published.folder)
    assert found.pop("adapter.py").decode() == ADAPTER
    assert found.pop("submission.toml")
    assert found == FILES
    assert published.workspace.submissions() == [published.folder]
    about = published.workspace.submission(published.folder).about
    assert about.provenance is Provenance.MODEL_OUTPUT


def test_a_bare_and_a_fetched_clone_serve_as_well(published: Published, copied) -> None:
    import_(published, copied("--bare"))
    first = contents(published.folder)
    with fetch_commit(f"file://{published.clone}", published.commit) as clone:
        assert clone.file("answers/first/theirs.py") == first["theirs.py"]


def test_only_what_is_committed_is_read_from_a_dirty_tree(published: Published) -> None:
    (published.clone / "answers" / "first" / "theirs.py").write_text("def scaled(x, scale):\n    return 0 * x\n")
    (published.clone / "answers" / "first" / "docs" / "NOTES.md").unlink()
    import_(published)
    assert contents(published.folder)["theirs.py"] == FILES["theirs.py"]


def test_line_ends_that_a_checkout_converted_are_not_read(published: Published, copied) -> None:
    clone = copied("--config", "core.autocrlf=true", "--config", "core.eol=crlf")
    assert b"\r\n" in (clone / "answers" / "first" / "theirs.py").read_bytes()
    import_(published, clone)
    assert contents(published.folder)["theirs.py"] == FILES["theirs.py"]


def test_an_object_replaced_in_the_clone_is_not_read(published: Published) -> None:
    other = git(published.clone, "hash-object", "-w", str(published.manifest))
    git(published.clone, "replace", git(published.clone, "rev-parse", "HEAD:answers/first/theirs.py"), other)
    import_(published)
    assert contents(published.folder)["theirs.py"] == FILES["theirs.py"]


def test_an_earlier_import_is_replaced_as_a_whole(published: Published) -> None:
    import_(published)
    (published.folder / "left.py").write_text("x = 1\n")
    import_(published)
    assert not (published.folder / "left.py").exists()


def test_a_commit_that_is_not_there_is_told(published: Published, copied) -> None:
    published.state(commit="0" * 40)
    words = refused(published)
    assert "has no commit " + "0" * 40 in words and "fetch origin" in words


def test_a_shallow_clone_is_told_by_its_name(published: Published, copied) -> None:
    commit(published.clone, {"later.py": b"x = 1\n"})
    words = refused(published, copied("--depth", "1"))
    assert f"is a shallow clone without commit {published.commit}" in words and "fetch origin" in words


def test_a_file_that_the_commit_lacks_is_told_with_the_nearest(published: Published) -> None:
    published.state({"their.py": FILES["theirs.py"]})
    words = refused(published)
    assert "collection.toml: answers.m/scaled_sum.files.their.py" in words
    assert "did you mean 'answers/first/theirs.py'?" in words


def test_a_file_that_is_another_is_told_with_both_hashes(published: Published) -> None:
    import_(published)
    published.state({**FILES, "theirs.py": b"something else"})
    words = refused(published)
    assert "answers.m/scaled_sum.files.theirs.py" in words and "git show" in words
    for data in (FILES["theirs.py"], b"something else"):
        assert hashlib.sha256(data).hexdigest() in words
    assert "line ends" not in words


@pytest.mark.parametrize("windows", [True, False])
def test_a_file_that_differs_in_its_line_ends_alone_is_told_so(published: Published, windows: bool) -> None:
    other = FILES["theirs.py"].replace(b"\n", b"\r\n")
    if windows:
        published.state(commit=commit(published.clone, {"theirs.py": other}))
    else:
        published.state({"theirs.py": other})
    kind = "Windows (CRLF)" if windows else "Unix (LF)"
    assert f"only its line ends differ: they are {kind} ones" in refused(published)


def test_a_folder_that_is_no_clone_is_told(published: Published, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    assert "is no git repository" in refused(published, tmp_path / "plain")
    assert "is no folder" in refused(published, tmp_path / "missing")


def test_without_git_the_message_says_what_to_install(published: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "apt-get install git" in refused(published)


def test_without_a_network_the_message_names_the_other_way(published: Published) -> None:
    with pytest.raises(PrerequisiteError) as error, open_collection(published.workspace, "published"):
        pass
    assert "https://127.0.0.1:9/nobody/answers.git" in str(error.value) and "--from CLONE" in str(error.value)
    assert not published.workspace.cache_folder.exists()


def test_a_collection_that_is_not_here_is_told_with_the_nearest(published: Published) -> None:
    with pytest.raises(NotFoundError, match="did you mean 'published'"):
        published.workspace.collection("publshed")


def test_an_adapter_that_is_missing_is_told(published: Published) -> None:
    (published.manifest.parent / NAME / "adapter.py").unlink()
    with pytest.raises(SpecError, match=f"{NAME}/adapter.py is missing"):
        published.workspace.collection("published")


@pytest.mark.parametrize(
    ("given", "instead", "told"),
    [
        ('commit = "', 'commit = "x', "commit"),
        ("https://127.0.0.1:9/", "ext::sh -c ", "repository"),
        ('"theirs.py" = ', '"../theirs.py" = ', "answers"),
        ('"theirs.py" = ', '"adapter.py" = ', "would hide our own file"),
        ("redistribute = ", "distribute = ", "did you mean 'redistribute'"),
        ('id = "published"', 'id = "other"', "the folder is 'published'"),
        ('decides = "', f'decides = "{"long " * 112}', "decides"),  # it would be cut where it is shown
    ],
)
def test_a_malformed_manifest_names_its_field(published: Published, given: str, instead: str, told: str) -> None:
    text = published.manifest.read_text()
    assert given in text
    published.manifest.write_text(text.replace(given, instead))
    with pytest.raises(SpecError) as error:
        published.workspace.collection("published")
    assert told in str(error.value) and "collection.toml" in str(error.value)


def test_a_folder_that_cannot_be_written_is_told_and_stays(published: Published) -> None:
    published.workspace.cache_folder.mkdir()
    (published.workspace.cache_folder / "collections").write_text("in the way")
    assert "move away the file" in refused(published)


def test_what_a_killed_import_left_is_removed(published: Published) -> None:
    left = published.workspace.fetched_folder("x").with_name(f".published.new.{2**22 + 1}")
    left.mkdir(parents=True)
    import_(published)
    assert not left.exists()
    assert [p.name for p in published.workspace.fetched_folder("published").parent.iterdir()] == ["published"]


def test_the_command_says_what_it_laid_out_and_what_hides_it(published: Published) -> None:
    root = published.workspace.root
    done = called(root, "import", "collection", "published", "--from", str(published.clone))
    assert done.returncode == 0 and done.stdout == f"{NAME}\n"
    shutil.copytree(published.folder, root / "submissions" / "m" / CHALLENGE_ID)
    done = called(root, "import", "collection", "published", "--from", os.fspath(published.clone))
    assert f"hidden by submissions of the same names: {NAME}" in done.stderr
    assert published.workspace.submissions() == [root / "submissions" / "m" / CHALLENGE_ID]
    listed = called(root, "ls", "collections")
    assert "none stated" in listed.stdout and "yes" in listed.stdout


def test_the_command_refuses_in_one_message(published: Published) -> None:
    done = called(published.workspace.root, "import", "collection", "publshed")
    assert done.returncode == 2 and "did you mean 'published'" in done.stderr and "Traceback" not in done.stderr
