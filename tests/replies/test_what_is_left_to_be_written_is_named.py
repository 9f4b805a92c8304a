"""Of a function left to be written the refusal names the line, and lists no block as defining it."""

from pathlib import Path

import pytest

from harness.errors import AmbiguousReplyError, NoAnswerError
from harness.importing.reply import ReplyImporter
from harness.importing.unanswered import importer_alone
from harness.model.submissions.name import SubmissionName
from harness.replies.text import reply_text
from harness.workspace import Workspace
from tests.toy import CHALLENGE_ID, REFERENCE, make_workspace

LAYER_NORM = (
    "```python layer_norm.py\ndef forward(x, gamma, beta, eps):\n    return x, (x,)\n\n\n"
    "def backward(dy, cache):\n    return dy, dy[0], dy[0]\n\n\n"
    "def check_gradients(forward, backward, x, gamma, beta, dy, eps):\n    {}\n```\n"
)
CHECKOUT = Workspace(Path(__file__).parents[2])


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def read(workspace: Workspace, challenge: str, text: str) -> ReplyImporter:
    return ReplyImporter(reply_text("reply.md", text.encode()), "m", workspace.challenge(challenge))


def test_a_check_that_always_says_yes_is_an_answer() -> None:
    files = read(CHECKOUT, "layernorm_backward", LAYER_NORM.format("return True")).read("m")
    assert "return True" in files["layer_norm.py"].decode()


@pytest.mark.parametrize("body", ["pass", "...", "raise NotImplementedError", '"""Compare with differences."""'])
def test_a_function_left_to_be_written_is_named_with_its_line(body: str) -> None:
    text, challenge = f"Here.\n\n{LAYER_NORM.format(body)}", CHECKOUT.challenge("layernorm_backward")
    lacks = "leaves check_gradients (line 12) unwritten"
    with pytest.raises(NoAnswerError) as error:
        read(CHECKOUT, challenge.id, text)
    wanted = "holds no whole file in Python that defines forward, backward, check_gradients"
    assert error.value.message == f"{wanted}; it {lacks}"
    (block,) = error.value.found
    assert block == f"block 1: line 3, python, layer_norm.py, defines forward, backward, {lacks}"
    kept = importer_alone("reply.md", text.encode(), SubmissionName("m", challenge.id), challenge)
    assert kept.submission.about.unanswered == error.value.message


def test_a_reply_of_other_code_has_a_reason_that_ends(workspace: Workspace) -> None:
    with pytest.raises(NoAnswerError) as error:
        read(workspace, CHALLENGE_ID, "```python\nclass Layer:\n    def scaled(self, x):\n        return x\n```\n")
    assert error.value.message == "holds no whole file in Python that defines scaled"
    assert error.value.found == ("block 1: line 1, python",)


def test_the_hint_names_a_block_that_is_there_and_may_be_the_answer(workspace: Workspace) -> None:
    code = f"```python\n{REFERENCE.strip()}\n```\n"
    with pytest.raises(AmbiguousReplyError) as error:
        read(workspace, CHALLENGE_ID, f"{code}\n{code}\n```text\nfast\n```\n")
    assert "--take 2, or --take 2=answer.py" in str(error.value)
    with pytest.raises(AmbiguousReplyError) as error:
        read(workspace, CHALLENGE_ID, f"{REFERENCE}\nThis is it!\n")
    assert "--take" not in str(error.value) and "in a fenced block" in str(error.value)
