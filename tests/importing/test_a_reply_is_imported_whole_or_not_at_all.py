"""A reply becomes one new submission folder or nothing: no folder is replaced, none is left half done."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import scaffold
from harness.errors import ReplyError, SpecError, StoreError
from harness.importing.reply import ReplyImporter, lay_out_reply
from harness.model import Provenance
from harness.replies.text import ReplyProblem, reply_text
from harness.workspace import Workspace
from tests.commands import called, command, environment
from tests.toy import CHALLENGE_ID, REFERENCE, make_workspace

REPLY = f"# Answer\n\n```python\n{REFERENCE.strip()}\n```\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


@pytest.fixture
def extract(workspace: Workspace) -> Callable[[str | bytes], ReplyImporter]:
    def take(text: str | bytes) -> ReplyImporter:
        data = text.encode() if isinstance(text, str) else text
        return ReplyImporter(reply_text("reply.md", data), "m", workspace.challenge(CHALLENGE_ID))

    return take


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def imported(workspace: Workspace, text: str | bytes) -> "subprocess.CompletedProcess[str]":
    path = workspace.root / "given.md"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return called(workspace.root, "import", "reply", str(path), "--model", "m", "--challenge", CHALLENGE_ID)


def test_the_command_makes_a_submission_with_the_reply_beside_it(workspace: Workspace) -> None:
    done = imported(workspace, REPLY)
    assert done.returncode == 0, done.stderr
    folder = workspace.submissions_folder / "m" / CHALLENGE_ID
    assert contents(folder).keys() == {"answer.py", "reply.md", "submission.toml"}
    assert (folder / "reply.md").read_text() == REPLY
    submission = workspace.submission(folder)
    assert submission.about.provenance is Provenance.MODEL_OUTPUT and not submission.capabilities
    assert done.stdout == "answer.py: entry, lines 4-8 of the reply, named by default\n"
    assert f"harness grade m/{CHALLENGE_ID}" in done.stderr


def test_standard_input_is_read_too(workspace: Workspace) -> None:
    words = command("import", "reply", "-", "--model", "m", "--challenge", CHALLENGE_ID)
    done = subprocess.run(
        words, input=REPLY.encode(), env=environment(workspace.root), capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert contents(workspace.submissions_folder / "m" / CHALLENGE_ID)["reply.md"] == REPLY.encode()


def test_a_folder_that_exists_is_refused_and_stays(workspace: Workspace) -> None:
    assert imported(workspace, REPLY).returncode == 0
    before = contents(workspace.submissions_folder)
    done = imported(workspace, f"{REPLY}\nMore words.\n")
    assert done.returncode == 2 and "exists already" in done.stderr and "--model ANOTHER-NAME" in done.stderr
    assert contents(workspace.submissions_folder) == before


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"caf\xe9", ReplyProblem.NOT_TEXT),
        ('{"choices": [{"message": "a"}, {"message": "b"}]}', ReplyProblem.SEVERAL_REPLIES),
        ('{"cells": []}', ReplyProblem.EMPTY),
        ('{"error": {"message": "overloaded"}}', ReplyProblem.EMPTY),
        ('{"choices": []}', ReplyProblem.EMPTY),
    ],
)
def test_what_is_no_reply_leaves_nothing(workspace: Workspace, text: str | bytes, problem: str) -> None:
    done = imported(workspace, text)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "given.md: " in done.stderr and "\n  try: " in done.stderr
    assert not workspace.submissions_folder.exists()
    with pytest.raises(ReplyError) as error:
        data = text.encode() if isinstance(text, str) else text
        ReplyImporter(reply_text("given.md", data), "m", workspace.challenge(CHALLENGE_ID))
    assert error.value.problem == problem


def test_fifty_megabytes_are_refused_without_being_read(workspace: Workspace) -> None:
    with (workspace.root / "given.md").open("wb") as file:
        file.truncate(50 << 20)
    start = time.monotonic()
    done = called(workspace.root, "import", "reply", "given.md", "--model", "m", "--challenge", CHALLENGE_ID)
    assert done.returncode == 2 and "larger than 2 MiB" in done.stderr
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(
    "name",
    [
        "../a.py", "a/../../b.py", "/etc/a.py", "~/a.py", "C:\\a.py", "..\\a.py", ".hidden.py", ".git/hooks/a.py",
        "-a.py", "reviews/me.toml", "Reviews/me.toml", "reply.md", "a/-b.py", "a/./b.py",
        "submission.toml/x.py", "SUBMISSION.toml/x.py", "reply.md/x.py", "asked.json/x/y.py", "a/reply.md/x.py",
        "attempt-2/submission.toml", "__pycache__/x.py", "a/reviews/x.py", "x" * 253 + ".py",
        "\U0001f600" * 64 + ".py", "a/" * 100 + "b.py", "\u00e9" * 100 + "/x.py", "a\x1b.py", "\u202ea.py", "a\x7f.py",
    ],
)  # fmt: skip
def test_a_name_that_leads_elsewhere_is_refused(extract: Callable[[str], ReplyImporter], name: str) -> None:
    with pytest.raises(ReplyError) as error:
        extract(f'{REPLY}\n``` file="{name}"\nx = 1\n```\n')
    assert error.value.problem == ReplyProblem.UNSAFE_NAME and repr(name) in str(error.value)


@pytest.mark.parametrize(
    "name",
    [
        "con.py", "A.py", "a.py.", "\u00e9.py", "e\u0301.py", "\U0001f600" * 49 + ".py", "a/" * 97 + "b.py",
        "contract.py", "challenge.toml", "submission.py", "a/submission.toml", "a/reply.md", "numpy.py",
    ],
)  # fmt: skip
def test_an_odd_name_that_does_no_harm_is_taken_and_written(
    workspace: Workspace, extract: Callable[[str], ReplyImporter], name: str
) -> None:
    importer, folder = extract(f'{REPLY}\n``` file="{name}"\nx = 1\n```\n'), workspace.submissions_folder / "m" / "c"
    lay_out_reply(importer, folder)
    assert (folder / name).read_text() == "x = 1\n"


def test_names_that_differ_in_form_alone_are_files_of_their_own(
    workspace: Workspace, extract: Callable[[str], ReplyImporter]
) -> None:
    names = ("a.py", "A.py", "\u00e9.py", "e\u0301.py")
    importer = extract(REPLY + "".join(f'\n``` file="{name}"\nx = {name!r}\n```\n' for name in names))
    folder = workspace.submissions_folder / "m" / "c"
    lay_out_reply(importer, folder)
    assert [(folder / name).read_text() for name in names] == [f"x = {name!r}\n" for name in names]


def as_json(text: str) -> str:
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]})


@pytest.mark.parametrize("code", ["\ud800", "a\ud83d", "\udcffa"], ids=ascii)
def test_half_of_a_pair_that_json_escapes_is_no_letter_and_no_failure_of_ours(
    workspace: Workspace, extract: Callable[[str], ReplyImporter], code: str
) -> None:
    importer = extract(as_json(f"{REPLY}\n{code}\n```python {code}.py\nscaled('{code}', 1)\n```\n"))
    lay_out_reply(importer, workspace.submissions_folder / "m" / "c")


def test_a_zero_that_json_escapes_is_no_text(extract: Callable[[str], ReplyImporter]) -> None:
    with pytest.raises(ReplyError) as error:
        extract(as_json(f'{REPLY}\n``` file="a\0.py"\nx = 1\n```\n'))
    assert error.value.problem == ReplyProblem.NOT_TEXT


def test_a_file_that_is_another_ones_folder_is_refused(extract: Callable[[str], ReplyImporter]) -> None:
    with pytest.raises(ReplyError) as error:
        extract(f"{REPLY}\n```a.py\nx = 1\n```\n\n```a.py/b.py\nx = 1\n```\n")
    assert error.value.problem == ReplyProblem.NAMES_CLASH


def test_a_disk_that_is_full_half_way_leaves_nothing(
    workspace: Workspace, extract: Callable[[str], ReplyImporter], monkeypatch: pytest.MonkeyPatch
) -> None:
    importer, written = extract(REPLY), Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        if self.name == "reply.md":
            raise OSError(28, os.strerror(28))
        return written(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StoreError, match="make room there"):
        lay_out_reply(importer, workspace.submissions_folder / "m" / CHALLENGE_ID)
    assert not workspace.submissions_folder.exists()


def test_a_file_where_the_folder_belongs_is_told(workspace: Workspace, extract: Callable[[str], ReplyImporter]) -> None:
    workspace.submissions_folder.mkdir()
    (workspace.submissions_folder / "m").write_text("in the way")
    with pytest.raises(StoreError, match="move away the file"):
        lay_out_reply(extract(REPLY), workspace.submissions_folder / "m" / CHALLENGE_ID)
    assert contents(workspace.submissions_folder) == {"m": b"in the way"}


def test_a_dangling_link_counts_as_there(workspace: Workspace, extract: Callable[[str], ReplyImporter]) -> None:
    place = workspace.submissions_folder / "m" / CHALLENGE_ID
    place.parent.mkdir(parents=True)
    place.symlink_to(workspace.root / "nowhere")
    with pytest.raises(SpecError, match="exists already"):
        lay_out_reply(extract(REPLY), place)
    assert not (workspace.root / "nowhere").exists()


def test_half_an_escape_in_json_becomes_a_character_that_a_file_can_hold(workspace: Workspace) -> None:
    half = chr(0xD800)
    assert imported(workspace, json.dumps(REPLY.replace("\nimport", f"\n# {half}\nimport"))).returncode == 0
    files = contents(workspace.submissions_folder / "m" / CHALLENGE_ID)
    assert files["answer.py"].startswith(b"# ?\nimport")


def test_json_of_a_chat_is_read_and_kept_as_it_is(workspace: Workspace) -> None:
    text = json.dumps({"role": "assistant", "content": [{"type": "text", "text": REPLY}]})
    assert imported(workspace, text).returncode == 0
    files = contents(workspace.submissions_folder / "m" / CHALLENGE_ID)
    assert files["reply.md"].decode() == text and files["answer.py"].decode() == REFERENCE.lstrip()


KV_CACHE = "\n\n".join(
    f"def {name}(*given, **options):\n    seen = [*given, *options.values()]\n    return seen[0] if seen else None\n"
    for name in ("create_cache", "prefill", "decode", "release")
)


def test_what_a_reply_offers_is_claimed_where_it_is_imported(tmp_path: Path) -> None:
    scaffold.workspace(tmp_path)
    (tmp_path / "reply.md").write_text(f"```python\n{KV_CACHE}```\n")
    words = ["import", "reply", "reply.md", "--challenge", "kv_cache", "--model"]
    unclaimed = called(tmp_path, *words, "plain")
    assert "claims none of fork, gqa, paged, quantized:int4, quantized:int8, sliding_window" in unclaimed.stderr
    assert "--challenge kv_cache --claim fork" in unclaimed.stderr
    claims = ("fork", "quantized", "paged.page_size=16", "limit=3")
    done = called(tmp_path, *words, "able", *(word for claim in claims for word in ("--claim", claim)))
    assert done.returncode == 0 and "options claimed: fork, quantized, paged, limit" in done.stderr
    claimed = {"fork": True, "quantized": ("int4", "int8"), "paged": {"page_size": 16}, "limit": 3}
    workspace = Workspace(tmp_path)
    assert workspace.submission(workspace.submissions_folder / "able" / "kv_cache").capabilities == claimed
    for wrong, message in (("frk", "did you mean 'fork'"), ("fork=yes", "no whole number"), ("int8", "no option")):
        refused = called(tmp_path, *words, "wrong", "--claim", wrong)
        assert refused.returncode == 2 and message in refused.stderr
        assert not (tmp_path / "submissions" / "wrong").exists()
