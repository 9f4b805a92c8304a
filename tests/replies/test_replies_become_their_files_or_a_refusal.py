"""Each raw reply becomes the files it holds, byte for byte, or a refusal; never other files, never half a file.

The 109 of `outsiders`, under corpus/, were written by people who had seen neither reader nor table, with what a careful
human would take. `ours` are cases that are rare among them: each is named after what it shows. Code that some share is
stored once: `{{name}}` or `{{name 1-9}}` stands for these lines of `code/name.txt`, each with what stands before it.
"""

import hashlib
import random
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness.asking.task import task_prompt
from harness.errors import AmbiguousReplyError, NoAnswerError, ReplyError
from harness.importing.reply import ReplyImporter
from harness.languages import language
from harness.model import Challenge
from harness.replies.blocks import find_blocks
from harness.replies.names import text_of
from harness.replies.text import reply_text
from harness.workspace import Workspace

HERE = Path(__file__).parent
CORPUS, OURS, WORKSPACE = HERE / "corpus", HERE / "ours", Workspace(HERE.parents[1])
TABLE = tomllib.loads((HERE / "expected.toml").read_text(encoding="utf-8"))
EXPECTED: dict[str, dict[str, Any]] = {
    f"{challenge}/{name}": expected for challenge, group in TABLE["taken"].items() for name, expected in group.items()
}
for part in ("refused", "unanswered"):
    for problem, names in TABLE[part].items():
        EXPECTED |= {name: {"problem": problem, "unanswered": part == "unanswered"} for name in names}
TAKEN = sorted(name for name, expected in EXPECTED.items() if "files" in expected)
REFUSED = sorted(name for name, expected in EXPECTED.items() if "problem" in expected)
CUT_UNSEEN = {
    "kv_cache/bare_code", "tree_verification/plain_module", "flash_attention_backward/bare_module_with_a_derivation",
    "kv_cache/reasoning_without_its_opening_tag",
}  # fmt: skip
"""These show nowhere that they are cut."""
MANGLING = (
    "```", "~~~", "```python", "````md", "<think>", "</think>", "<pre>", "> ```", '<file path="x.py">', "</file>", "\f",
    "# ... rest unchanged", "@@ -1 +1 @@", '"""', "/*", "\u2028", "### x.py", "def forward(x):", "    return (", "",
)  # fmt: skip


def challenge_of(name: str) -> Challenge:
    return WORKSPACE.challenge(name.partition("/")[0])


@cache
def data_of(name: str) -> bytes:
    (path,) = (path for folder in (CORPUS, OURS) if (path := folder / f"{name}.md").exists())
    return re.sub(rb"(?m)^(.*)\{\{(\w+)(?: (\d+)-(\d+))?\}\}(\r?\n)?", lines_of, path.read_bytes())


def lines_of(reference: re.Match[bytes]) -> bytes:
    """Return the lines of a stored file that stand where `reference` is."""
    before, name, first, last, end = reference.groups()
    lines = (HERE / "code" / f"{name.decode()}.txt").read_bytes().splitlines()
    return (end or b"\n").join(before + line for line in lines[int(first or 1) - 1 : int(last or 999)]) + (end or b"")


def read(name: str, data: bytes | None = None) -> ReplyImporter:
    return ReplyImporter(reply_text("reply.md", data_of(name) if data is None else data), "m", challenge_of(name))


def files_of(importer: ReplyImporter) -> dict[str, bytes]:
    files = dict(importer.read(*importer.discover()))
    return {path: data for path, data in files.items() if path not in ("reply.md", "submission.toml")}


def is_as_expected(name: str, data: bytes, expected: str) -> bool:
    """Whether a file is those lines of the reply, or has that hash."""
    if "-" not in expected:
        return hashlib.sha256(data).hexdigest().startswith(expected)
    first, last = map(int, expected.split("-"))
    lines = data_of(name).decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    return data.decode() == "".join(f"{line}\n" for line in lines[first - 1 : last])


@pytest.mark.parametrize("name", TAKEN)
def test_a_reply_gives_its_files_byte_for_byte(name: str) -> None:
    expected, importer = EXPECTED[name], read(name)
    files, found, made = files_of(importer), importer.found.extraction, importer.found.submission
    assert files.keys() == expected["files"].keys()
    assert [path for path, data in files.items() if not is_as_expected(name, data, expected["files"][path])] == []
    entry = expected.get("entry", [*expected["files"]][:1])
    assert list(made.entries) == ([entry] if isinstance(entry, str) else entry)
    assert (made.tests is not None, list(made.capabilities)) == (
        expected.get("tests", any("test" in path for path in expected["files"])),
        expected.get("claims", []),
    )
    assert [left.why.name for left in found.left] == expected.get("left", [])
    assert bool(importer.found.unread) == expected.get("unread", False)
    assert importer.read("m")["reply.md"] == data_of(name)


@pytest.mark.parametrize("name", REFUSED)
def test_a_reply_that_leaves_a_doubt_is_refused_and_one_without_an_answer_told_apart(name: str) -> None:
    with pytest.raises(ReplyError) as error:
        read(name)
    assert error.value.problem == EXPECTED[name]["problem"], error.value
    assert isinstance(error.value, NoAnswerError) == EXPECTED[name]["unanswered"]
    assert isinstance(error.value, AmbiguousReplyError) == (error.value.problem == "ambiguous")


def test_every_reply_stored_is_judged() -> None:
    outsiders, ours = (
        [str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.md")] for folder in (CORPUS, OURS)
    )
    assert sorted(outsiders + ours) == sorted(EXPECTED)
    assert len(outsiders) == 109 and len(ours) <= 60


@pytest.mark.parametrize("name", sorted({*TAKEN} - CUT_UNSEEN))
def test_a_reply_cut_anywhere_gives_whole_files_or_a_refusal(name: str) -> None:
    lines = data_of(name).splitlines(keepends=True)
    whole = set(files_of(read(name)).values()) | versions_of(name)
    for end in range(1, len(lines), 7):
        try:
            files = files_of(read(name, b"".join(lines[:end])))
        except ReplyError:
            continue
        assert {*files.values()} <= whole, end


def versions_of(name: str) -> set[bytes]:
    """The texts of all closed blocks: a reply that is cut before a later version may give an earlier one."""
    return {text_of(block).encode() for block in find_blocks(reply_text("", data_of(name))).blocks}


@pytest.mark.parametrize("seed", range(40))
def test_a_mangled_reply_is_never_a_failure_of_the_harness(seed: int) -> None:
    drawn = random.Random(seed)
    name = drawn.choice(sorted(EXPECTED))
    lines = data_of(name).decode("utf-8-sig").split("\n")
    for _ in range(4):
        at = drawn.randrange(len(lines) + 1)
        lines[at : at + drawn.randrange(4)] = drawn.choices(MANGLING, k=drawn.randrange(1, 4))
    try:
        importer = read(name, "\n".join(lines).encode())
    except ReplyError as error:
        assert "\n  try: " in str(error)
    else:
        assert files_of(importer)


@pytest.mark.parametrize("name", ["kv_cache/options_one_recommended", "tree_verification/original_attempt_below"])
def test_no_word_of_a_human_language_decides(name: str) -> None:
    """What is refused stays refused, and with the same blocks, where all words of the prose are other ones."""
    text = data_of(name).decode()
    for word in ("recommend", "submit", "should use", "original", "Do not use", "final", "Option"):
        text = text.replace(word, "kwyjibo")
    refusals = []
    for data in (data_of(name), text.encode()):
        with pytest.raises(AmbiguousReplyError) as error:
            read(name, data)
        refusals.append(error.value.found)
    assert refusals[0] == refusals[1]


@pytest.mark.parametrize("challenge", sorted(WORKSPACE.challenges()))
def test_every_prompt_states_the_format_and_a_reply_in_it_is_read(challenge: str) -> None:
    said = " ".join((WORKSPACE.challenge_folder(challenge) / "PROMPT.md").read_text("utf-8").split())
    form = re.search(r"one fenced block for each file: [^`]* the line that opens the block: ```(\w+ (\S+))", said)
    assert form is not None and task_prompt(WORKSPACE, challenge).count("one fenced block for each file") == 1
    used = language(WORKSPACE.challenge(challenge).language)
    reference = (WORKSPACE.reference_folder(challenge) / used.reference).read_text()
    reply = f"```{form[1]}\n{reference}```\n"
    assert files_of(read(f"{challenge}/in_format", reply.encode())) == {form[2]: reference.encode()}
