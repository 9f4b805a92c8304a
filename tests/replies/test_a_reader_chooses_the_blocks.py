"""Where a reply leaves a choice, its error lists the blocks, and `--take` says which of them are the answer."""

from pathlib import Path

import pytest

from harness.errors import AmbiguousReplyError, ReplyError
from harness.importing.reply import ReplyImporter
from harness.replies.text import ReplyProblem, reply_text
from harness.workspace import Workspace
from tests.commands import called
from tests.toy import CHALLENGE_ID, REFERENCE, make_workspace

CODE = REFERENCE.strip()
TWO = f"""Quick:

```python
{CODE}
```

Safe:

```python
# kept.py
{CODE}
```

```json
{{"size": 3}}
```
"""
GOLDEN = Path(__file__).parent / "golden" / "two_blocks.txt"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def taken(workspace: Workspace, **take: str) -> dict[str, bytes]:
    chosen = {int(number.removeprefix("n")): name for number, name in take.items()}
    importer = ReplyImporter(
        reply_text("two.md", TWO.encode()), "m", workspace.challenge(CHALLENGE_ID), None, {}, chosen
    )  # fmt: skip
    files = dict(importer.read("m"))
    assert files.pop("reply.md") == TWO.encode()
    assert files.pop("submission.toml")
    return files


def test_the_error_lists_the_blocks_and_says_how_to_choose(workspace: Workspace) -> None:
    with pytest.raises(AmbiguousReplyError) as error:
        taken(workspace)
    assert error.value.problem == ReplyProblem.AMBIGUOUS and len(error.value.found) == 2
    assert f"{error.value}\n" == GOLDEN.read_text()


def test_the_blocks_that_are_named_are_the_answer(workspace: Workspace) -> None:
    assert taken(workspace, n1="") == {"answer.py": f"{CODE}\n".encode()}
    assert taken(workspace, n2="") == {"kept.py": f"# kept.py\n{CODE}\n".encode()}
    assert taken(workspace, n1="kv.py", n3="run.json") == {
        "kv.py": f"{CODE}\n".encode(), "run.json": b'{"size": 3}\n',
    }  # fmt: skip


@pytest.mark.parametrize(
    ("take", "problem"),
    [
        ({"n4": ""}, ReplyProblem.NO_BLOCK),
        ({"n1": "", "n2": ""}, ReplyProblem.AMBIGUOUS),
        ({"n2": "", "n3": ""}, ReplyProblem.AMBIGUOUS),
        ({"n3": "run.json"}, ReplyProblem.NO_ENTRY),
        ({"n1": "../x.py"}, ReplyProblem.UNSAFE_NAME),
    ],
)
def test_a_choice_that_settles_nothing_is_refused(
    workspace: Workspace, take: dict[str, str], problem: ReplyProblem
) -> None:
    with pytest.raises(ReplyError) as error:
        taken(workspace, **take)
    assert error.value.problem == problem


def test_the_command_takes_the_choice_and_else_exits_with_2(workspace: Workspace) -> None:
    (workspace.root / "two.md").write_text(TWO)
    words = ("import", "reply", "two.md", "--model", "m", "--challenge", CHALLENGE_ID)
    done = called(workspace.root, *words)
    assert done.returncode == 2 and "block 1: line 3" in done.stderr and not workspace.submissions()
    assert called(workspace.root, *words, "--take", "two").returncode == 2
    assert called(workspace.root, *words, "--take", "2=mine.py").returncode == 0
    (folder,) = workspace.submissions()
    assert (folder / "mine.py").is_file() and workspace.submission(folder).entries == ("mine.py",)
