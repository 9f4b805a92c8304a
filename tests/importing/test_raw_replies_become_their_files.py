"""Each raw reply becomes the files it holds, byte for byte, or an error that lists what was found; never half a file.

The table's parts: `first` are the replies that the parser was built on; `later` and all further ones
were each written when it was done with all before. Of the 24 of `frozen` it read 21 rightly as it was, refused two that
it reads now, and took one wrongly: it put two files of one block into one. Of the first 20 of `second` it then read
16 rightly and refused two that are whole; it took a notebook's `%%writefile` for code, and left out a `CMakeLists.txt`.
The 30 of `third` were written by somebody who had seen neither parser nor table, with what a careful human would take:
24 it read so, four it refused that a human could decide, and two it took wrongly: tests that define all of the contract
(as broken samples) for the entry, and the second of two options between which a reply leaves the choice.
`fourth` came with the rules for changes after a whole file, for replies that are cut off, and for what terminals, chat
pages, notebooks and tools put around code; each way in which those could go wrong unseen is an error there.
The 30 of `fifth` with a number came from outside again: 25 were read rightly, or otherwise in the name alone, four left
out a file or were refused, and one took a second file, named in Chinese, for a later version of the first.
`sixth` are those of 243 replies, written against the parser by its author in ten languages, that it first took wrongly
or refused, and some that it must not take.
The 40 of `seventh` came from outside again: 37 were read rightly, one was refused (files in an object of JSON), and two
were taken wrongly: both of two options where the reply submits the second, and a skeleton with German placeholders.
"""

import random
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ReplyError
from harness.importing.reply import ReplyImporter
from harness.importing.reply_text import read_reply, reply_text
from harness.model import Challenge
from harness.workspace import Workspace

PLACE = Path(__file__).parent / "replies"
TABLE: dict[str, dict[str, dict[str, Any]]] = tomllib.loads((PLACE / "expected.toml").read_text(encoding="utf-8"))
EXPECTED = {name: expected for part in TABLE.values() for name, expected in part.items()}
CHALLENGES = {
    "kv": "kv_cache", "ln": "layernorm_backward", "topk": "fused_softmax_topk", "beam": "beam_search",
    "tree": "tree_verification", "flash": "flash_attention", "flashback": "flash_attention_backward",
    "ternary": "ternary_training",
}  # fmt: skip
TAKEN = sorted(name for name, expected in EXPECTED.items() if "files" in expected)
CODE_ALONE = {"kv_bare_code", "tree_plain_module", "flashback_seventh_31"}
"""These say nowhere that they are cut."""
REFUSED = sorted(name for name, expected in EXPECTED.items() if "problem" in expected)


WHOLE = {path.read_bytes() for path in (PLACE / "sources").iterdir()}


def challenge_of(name: str) -> Challenge:
    return Workspace(PLACE.parents[2]).challenge(CHALLENGES[name.partition("_")[0]])


def read(name: str) -> ReplyImporter:
    return ReplyImporter(read_reply(str(PLACE / f"{name}.md")), "m", challenge_of(name))


@pytest.mark.drawn(9)
@pytest.mark.parametrize("name", TAKEN)
def test_a_reply_gives_its_files_byte_for_byte(name: str) -> None:
    expected, importer = EXPECTED[name], read(name)
    files = dict(importer.read(*importer.discover()))
    assert files.pop("reply.md") == (PLACE / f"{name}.md").read_bytes()
    files.pop("submission.toml")
    assert files == {path: (PLACE / "sources" / f"{s}.txt").read_bytes() for path, s in expected["files"].items()}
    made = importer.found.submission
    assert list(made.entries) == expected.get("entries", [expected.get("entry", next(iter(expected["files"])))])
    assert bool(importer.found.unread) == expected.get("unread", False)
    assert (made.tests is not None) == expected.get("tests", False)
    assert list(made.capabilities) == expected.get("capabilities", [])
    assert [left.why.name for left in importer.found.extraction.left] == expected.get("left", [])
    changes = {block.line for file in importer.found.extraction.files for block in file.changes}
    assert sorted(changes) == expected.get("changed", [])


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", REFUSED)
def test_a_reply_that_leaves_a_doubt_is_refused_with_what_was_found(name: str) -> None:
    with pytest.raises(ReplyError) as error:
        read(name)
    assert error.value.problem == EXPECTED[name]["problem"], error.value
    for line in EXPECTED[name].get("lines", ()):
        assert re.search(rf"\bline {line}\b", str(error.value)), error.value
    assert "\n  try: " in str(error.value)


def test_every_reply_stored_is_judged() -> None:
    assert {path.stem for path in PLACE.glob("*.md")} == EXPECTED.keys()
    assert len(EXPECTED) >= 60


@pytest.mark.drawn(23)
@pytest.mark.parametrize("name", sorted({*TAKEN} - CODE_ALONE))
def test_a_reply_cut_anywhere_gives_whole_files_or_an_error(name: str) -> None:
    lines, challenge = (PLACE / f"{name}.md").read_bytes().splitlines(keepends=True), challenge_of(name)
    for end in range(1, len(lines), 7):
        try:
            importer = ReplyImporter(reply_text("reply.md", b"".join(lines[:end])), "m", challenge)
        except ReplyError:
            continue
        files = dict(importer.read(f"m/{challenge.id}"))
        assert {data for path, data in files.items() if path not in ("reply.md", "submission.toml")} <= WHOLE, end


OPTIONS = """
## {first} (`a.py`)

```python
{code}```

## {second} (`b.py`)

```python
{code}# the other one
```

{said}
"""
SETTINGS = '\n```toml\n[submission]\nentry = ["b.py"]\n```\n'


@pytest.mark.parametrize(
    ("labels", "said", "taken"),
    [
        (("Option A", "Option B"), f"I submit Option B.\n{SETTINGS}", ["b.py"]),
        (("Option A", "Option B"), SETTINGS, ["b.py"]),
        (("Option A", "Option B"), f"I submit Option A.\n{SETTINGS}", []),
        (("Vaihtoehto A", "Vaihtoehto B"), f"Annan vaihtoehdon B.\n{SETTINGS}", []),
        (("Vaihtoehto A", "Vaihtoehto B"), "Annan vaihtoehdon B.", []),
    ],
)
def test_of_two_whole_files_that_are_told_as_options_one_is_taken_or_none(
    labels: tuple[str, str], said: str, taken: list[str]
) -> None:
    code = (PLACE / "sources" / "kv_oo.py.txt").read_text(encoding="utf-8")
    text = OPTIONS.format(first=labels[0], second=labels[1], code=code, said=said)
    if not taken:
        with pytest.raises(ReplyError, match="files define the contract"):
            ReplyImporter(reply_text("reply.md", text.encode()), "m", challenge_of("kv"))
        return
    importer = ReplyImporter(reply_text("reply.md", text.encode()), "m", challenge_of("kv"))
    assert [file.name.path for file in importer.found.extraction.files] == taken


@pytest.mark.parametrize("seed", range(40))
def test_a_mangled_reply_is_never_a_failure_of_the_harness(seed: int) -> None:
    drawn = random.Random(seed)
    name = drawn.choice(sorted(EXPECTED))
    lines = (PLACE / f"{name}.md").read_text(encoding="utf-8").split("\n")
    for _ in range(4):
        at = drawn.randrange(len(lines) + 1)
        lines[at : at + drawn.randrange(4)] = drawn.choices(MANGLING, k=drawn.randrange(1, 4))
    try:
        importer = ReplyImporter(reply_text("reply.md", "\n".join(lines).encode()), "m", challenge_of(name))
    except ReplyError as error:
        assert "\n  try: " in str(error)
    else:
        assert importer.read(*importer.discover())["reply.md"]


MANGLING = (
    "```", "~~~", "```python", "````md", "<think>", "</think>", "<pre>", "> ```", '<file path="x.py">', "</file>", "\f",
    "# ... rest unchanged", "@@ -1 +1 @@", '"""', "/*", "\u2028", "### x.py", "def forward(x):", "    return (", "",
)  # fmt: skip
