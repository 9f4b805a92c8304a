"""Whatever a reply holds, reading it ends within seconds, in files or a refusal, and runs nothing of it."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import ReplyError
from harness.importing.reply import ReplyImporter
from harness.replies.text import MAX_BYTES, ReplyProblem, reply_text
from tests.toy import CHALLENGE_ID, REFERENCE, make_workspace

REPLY = f"# Answer\n\n```python\n{REFERENCE.strip()}\n```\n"
SECONDS = 8
"""Processor time of one reading at most; here it takes two at most, and machines differ."""
HOSTILE = {
    "10 MB of backticks": "`" * 10_000_000,
    "backticks": "`" * MAX_BYTES,
    "lines of backticks": "`" * 1000 + "\n" + ("`" * 999 + "\n") * 2000,
    "10,000 blocks": "```python\nx = 1\n```\n" * 10_000,
    "fences": "```python\n" * 100_000,
    "tildes": "~~~\n" * 100_000,
    "open strings": '```python\n"""\n```\n' * 50_000,
    "brackets": "```python\n" + "(" * 1_000_000 + "\n```\n",
    "signs": "```python\nx = " + "-" * 1_000_000 + "1\n```\n",
    "sums": "```python\nx = " + "1+" * 900_000 + "1\n```\n",
    "labels": "### a.py " * 200_000 + "\n```python\nx = 1\n```\n",
    "names": "a.py/" * 400_000 + "\n```python\nx = 1\n```\n",
    "comments": "```python\n# ... " + "rest of " * 200_000 + "\n```\n",
    "ellipses": "```python\n" + "# ...\n" * 300_000 + "```\n",
    "tags": '<file path="a.py">\n' * 80_000,
    "closed tags": '<file path="a.py">\n</file>\n' * 50_000,
    "nested quotes": "> " * 900_000 + "```python\nx = 1\n```\n",
    "lines of quotes": (">" * 500 + "\n") * 4000,
    "nested lists": "".join("  " * depth + "- x\n" for depth in range(1000)),
    "list signs": "- " * 900_000,
    "square brackets": "[" * 1_000_000,
    "indented": ("    x\n" + "y\n") * 150_000,
    "thoughts": "<think>\n</think>\n" * 100_000,
    "patches of new files": "```diff\n" + "--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@\n+x\n" * 40_000 + "```\n",
    "patches of one line": f"{REPLY}```diff\n--- a/answer.py\n+++ b/answer.py\n"
    + "@@ -1 +1 @@\n-x\n+y\n" * 80_000
    + "```\n",
    "searches": f"{REPLY}```\n" + "<<<<<<< SEARCH\n=======\n" * 80_000 + "```\n",
    "here documents": "```bash\n" + "cat > a.py <<'END'\n" * 90_000 + "```\n",
    "loose blocks": REPLY + "```python\nimport numpy as np\nscaled(1, 2)\n```\n" * 900 + "x" * 500_000,
    "versions": "```python a.py\nimport numpy\nx = 1\n```\n" * 990 + REPLY,
    "files": "".join(f"```python f{n}.py\nimport f{n + 1}\n```\n" for n in range(990)) + REPLY,
    "blanks": "```python\n" + " " * 1_500_000 + "x\n```\n",
    "nested JSON": "[" * 500_000 + "]" * 500_000,
    "JSON of files": "```json\n" + json.dumps({f"f{n}.py": "x = 1\n" for n in range(20_000)}) + "\n```\n",
}
READ = {"loose blocks", "versions", "files"}


@pytest.fixture
def extract(tmp_path: Path) -> Callable[[bytes], ReplyImporter]:
    challenge = make_workspace(tmp_path).challenge(CHALLENGE_ID)
    return lambda data: ReplyImporter(reply_text("reply.md", data), "m", challenge)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_reply_ends_soon(extract: Callable[[bytes], ReplyImporter], kind: str) -> None:
    start = time.process_time()
    try:
        extract(HOSTILE[kind].encode())
    except ReplyError:
        assert kind not in READ
    else:
        assert kind in READ
    assert time.process_time() - start < SECONDS


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"x" * (MAX_BYTES + 1), ReplyProblem.TOO_LARGE),
        (b"```python\n```\n" * 2000, ReplyProblem.TOO_LARGE),
        (b"a\0b", ReplyProblem.NOT_TEXT),
        (b"\xff\xfea\0", ReplyProblem.NOT_TEXT),
        (b"caf\xe9", ReplyProblem.NOT_TEXT),
        (json.dumps({"text": "```python\0\n"}).encode(), ReplyProblem.NOT_TEXT),
        (f"{REPLY}\n```../../x.py\nx = 1\n```\n".encode(), ReplyProblem.UNSAFE_NAME),
        (f"{REPLY}\n```/etc/x.py\nx = 1\n```\n".encode(), ReplyProblem.UNSAFE_NAME),
        (f'{REPLY}\n<file path="C:\\x.py">\nx = 1\n</file>\n'.encode(), ReplyProblem.UNSAFE_NAME),
        (
            f"{REPLY}\n```diff\n--- /dev/null\n+++ b/../x.py\n@@ -0,0 +1 @@\n+x\n```\n".encode(),
            ReplyProblem.UNSAFE_NAME,
        ),
        (f"{REPLY}\n```bash\ncat > /x.py <<'E'\nx = 1\nE\n```\n".encode(), ReplyProblem.UNSAFE_NAME),
    ],
)
def test_what_is_no_reply_and_what_leads_elsewhere_is_refused(
    extract: Callable[[bytes], ReplyImporter], data: bytes, problem: ReplyProblem
) -> None:
    with pytest.raises(ReplyError) as error:
        extract(data)
    assert error.value.problem == problem


def test_no_line_of_a_reply_is_run(tmp_path: Path, extract: Callable[[bytes], ReplyImporter]) -> None:
    trap = tmp_path / "ran"
    source = f"open({str(trap)!r}, 'w').close()\n{REFERENCE}"
    tests = f"open({str(trap)!r}, 'w').close()\nfrom answer import scaled\n\ndef test_it():\n    pass\n"
    importer = extract(f"```python\n{source}```\n\n```python\n{tests}```\n".encode())
    assert set(importer.read("m")) == {"answer.py", "test_answer.py", "reply.md", "submission.toml"}
    assert not trap.exists()
