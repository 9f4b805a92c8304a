"""A reply's file is taken with all that the reply does to it, or the reply is refused."""

from pathlib import Path

import pytest

from harness.cli.replies import _facts
from harness.errors import AmbiguousReplyError
from harness.importing.reply import ReplyImporter
from harness.replies.text import reply_text
from tests.toy import CHALLENGE_ID, REFERENCE, make_workspace

CODE = REFERENCE.strip("\n")
WRITTEN = f"cat > answer.py <<'END'\n{CODE}\nEND\n"
HELPED = f"from helper import times\n{CODE}".replace("total * scale", "times(total, scale)")
HELPER = "def times(a, b):\n    return a + b\n"
DIFF = """```diff
--- a/answer.py
+++ b/answer.py
@@ -5 +5 @@
-    return 0
+    return times(total, scale)
--- a/helper.py
+++ b/helper.py
@@ -1,2 +1,2 @@
 def times(a, b):
-    return a + b
+    return a * b
```
"""


@pytest.fixture
def read(tmp_path: Path):
    challenge = make_workspace(tmp_path).challenge(CHALLENGE_ID)
    return lambda text, **take: ReplyImporter(
        reply_text("reply.md", text.encode()), "m", challenge, None, {}, {int(n[1:]): name for n, name in take.items()}
    )


@pytest.mark.parametrize(
    "command",
    ["sed -i 's/total/x/' answer.py", "sed -i 's/total/x/' *.py", "tee -a answer.py < more.txt", "mv answer.py old.py",
     "mkdir src && cat > src/helper.py <<'END'\nx = 1\nEND"],
)  # fmt: skip
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_commands_that_write_beside_a_here_document_are_seen(read, command: str, before: bool) -> None:
    lines = f"{command}\n{WRITTEN}" if before else f"{WRITTEN}{command}\n"
    with pytest.raises(AmbiguousReplyError, match="changes files with shell commands in the block of line 1"):
        read(f"```bash\n{lines}```\n")
    assert read(f"```bash\n{lines}```\n", n1="").read("m")["answer.py"].decode() == f"{CODE}\n"


@pytest.mark.parametrize("command", [
    "python answer.py", "python -m pytest 2>&1", "chmod +x answer.py", "ls *.py", "python answer.py > /dev/null",
    "python answer.py 2> errors | tee log",
])  # fmt: skip
def test_commands_that_write_nothing_keep_no_file_from_being_taken(read, command: str) -> None:
    importer = read(f"```bash\n{WRITTEN}{command}\n```\n")
    assert importer.read("m")["answer.py"].decode() == f"{CODE}\n"


@pytest.mark.parametrize("helper_first", [True, False])
def test_a_diff_changes_a_helper_although_the_entry_follows_whole(read, helper_first: bool) -> None:
    files = (DIFF.index("--- a/helper"), DIFF.index("```\n", 8))
    answer, helper = DIFF[8 : files[0]], DIFF[files[0] : files[1]]
    diff = f"```diff\n{helper}{answer}```\n" if helper_first else DIFF
    importer = read(f"```python helper.py\n{HELPER}```\n\n{diff}\n```python answer.py\n{HELPED}\n```\n")
    files = importer.read("m")
    assert files["helper.py"].decode() == HELPER.replace("+", "*") and files["answer.py"].decode() == f"{HELPED}\n"
    assert importer.found.extraction.left == ()


def test_bare_code_stands_in_the_lines_where_it_begins_and_ends(read) -> None:
    (file,) = read(f"\n\n{CODE}").found.extraction.files
    assert (file.blocks[0].line, file.blocks[0].first) == (3, 3)
    assert "lines 3-7 of the reply" in list(_facts(file, ()))


def test_a_name_from_the_settings_is_said_to_be_theirs(read) -> None:
    settings = '```toml\n[submission]\nentry = "mine.py"\n```\n'
    (file,) = read(f"```python\n{CODE}\n```\n\n{settings}").found.extraction.files
    assert (file.name.path, file.name.by.value) == ("mine.py", "the reply's submission.toml")
