"""What is there is not asked for again: a run goes on where one was interrupted, and attempts of a folder are alike."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest
from asked_models import NAME, RIGHT, Ask, attempts, folder, say

from harness.asking.attempts import lock_attempts
from harness.model import Provenance
from harness.workspace import Workspace
from tests.commands import called
from tests.review.judge_server import Request, serving
from tests.toy import CHALLENGE_ID, REFERENCE, add_submission


def test_a_reply_becomes_a_submission_with_all_about_it_beside(workspace: Workspace, ask: Ask) -> None:
    with serving(say) as server:
        ran = ask(server.url, "--temperature", "0.5", "--max-tokens", "900", "--price-in", "1", "--price-out", "10")
    assert ran.returncode == 0, ran.stderr
    made = folder(workspace) / "attempt-1"
    assert {p.name for p in made.iterdir()} == {"answer.py", "asked.json", "reply.md", "submission.toml"}
    assert (made / "reply.md").read_text() == RIGHT
    about = workspace.submission(made).about
    assert (about.model, about.challenge, about.turns, about.provenance) == (
        NAME, CHALLENGE_ID, 1, Provenance.MODEL_OUTPUT,
    )  # fmt: skip
    assert about.generator == "m-1-0324, temperature 0.5, max tokens 900"
    (asked,) = attempts(workspace).values()
    assert (asked.settings.model, asked.settings.server, asked.turns[0].model) == ("acme/M 1", server.url, "m-1-0324")
    assert asked.cost == pytest.approx(0.006) and "0.006" in ran.stdout
    (request,) = server.requests
    prompt = called(workspace.root, "prompt", CHALLENGE_ID).stdout.rstrip("\n")
    assert request.body == {
        "model": "acme/M 1", "messages": [{"role": "user", "content": prompt}], "temperature": 0.5, "max_tokens": 900,
    }  # fmt: skip


def test_only_what_is_missing_is_asked_for(workspace: Workspace, ask: Ask) -> None:
    with serving(say) as server:
        assert ask(server.url, "-n", "2").returncode == 0
        again = ask(server.url, "-n", "2")
        assert again.returncode == 0 and "nothing to ask" in again.stderr
        assert len(server.requests) == 2
        (folder(workspace) / "attempt-1").rename(folder(workspace).parent / "elsewhere")
        assert ask(server.url, "-n", "3").returncode == 0
    assert len(server.requests) == 4 and sorted(attempts(workspace)) == [1, 2, 3]


def test_a_run_whose_server_fails_goes_on_later(workspace: Workspace, ask: Ask) -> None:
    def behave(request: Request) -> None:
        if request.number in (3, 4):
            request.send(b'{"error": {"message": "no credit"}}', 402)
        else:
            say(request)

    with serving(behave) as server:
        ran = ask(server.url, "-n", "5")
        assert ran.returncode == 3 and "no credit" in ran.stderr and "3 of 5 are missing" in ran.stderr
        assert sorted(attempts(workspace)) == [1, 2]
        assert ask(server.url, "-n", "5").returncode == 3, "what would hit every attempt ends the run at once"
        assert ask(server.url, "-n", "5").returncode == 0
    assert len(server.requests) == 7 and sorted(attempts(workspace)) == [1, 2, 3, 4, 5]


@pytest.fixture
def _ctrl_c_is_heard() -> Iterator[None]:
    """Whoever runs the tests in the background may have it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ctrl_c_is_heard")
def test_a_run_that_is_interrupted_goes_on_later(workspace: Workspace, ask: Ask) -> None:
    def behave(request: Request) -> None:
        if request.number == 2:
            os.kill(os.getpid(), signal.SIGINT)
            server.closing.wait(2)  # a busy machine takes its time to raise the interrupt
        say(request)

    with serving(behave) as server:
        ran = ask(server.url, "-n", "3")
        assert ran.returncode == 130 and "2 of 3 are missing" in ran.stderr
        assert ask(server.url, "-n", "3").returncode == 0
    assert sorted(attempts(workspace)) == [1, 2, 3]


def test_several_are_asked_for_at_a_time(workspace: Workspace, ask: Ask) -> None:
    together = threading.Barrier(3, timeout=20)

    def behave(request: Request) -> None:
        together.wait()
        say(request)

    with serving(behave) as server:
        ran = ask(server.url, "-n", "6", "-j", "3")
    assert ran.returncode == 0, ran.stderr
    assert sorted(attempts(workspace)) == [1, 2, 3, 4, 5, 6]
    assert "3 of 6" in ran.stderr and " left" in ran.stderr


def test_every_attempt_has_a_seed_of_its_own(workspace: Workspace, ask: Ask) -> None:
    with serving(say) as server:
        assert ask(server.url, "-n", "3", "--seed", "7").returncode == 0
    assert sorted(request.body["seed"] for request in server.requests) == [7, 8, 9]


@pytest.mark.parametrize(
    ("more", "field"),
    [(("--temperature", "0.2"), "temperature"), (("--max-tokens", "5"), "max_tokens"), (("--seed", "1"), "seed"),
     (("--turns", "2", "--name", NAME), "turns")],
)  # fmt: skip
def test_attempts_of_a_folder_are_asked_for_alike(
    workspace: Workspace, ask: Ask, more: tuple[str, ...], field: str
) -> None:
    with serving(say) as server:
        assert ask(server.url, "-n", "1").returncode == 0
        ran = ask(server.url, "-n", "2", *more)
        assert ran.returncode == 2 and f"settings.{field}" in ran.stderr and "--name" in ran.stderr
        assert len(server.requests) == 1
        assert ask(server.url, "-n", "2", *more, "--name", "other").returncode == 0


def test_a_prompt_that_changed_is_another_question(workspace: Workspace, ask: Ask) -> None:
    with serving(say) as server:
        assert ask(server.url).returncode == 0
        (workspace.challenge_folder(CHALLENGE_ID) / "PROMPT.md").write_text("Do something else.\n")
        ran = ask(server.url, "-n", "2")
    assert ran.returncode == 2 and "settings.prompt_sha256" in ran.stderr


def test_an_answer_that_is_no_attempt_is_left_alone(workspace: Workspace, ask: Ask) -> None:
    add_submission(workspace, NAME, REFERENCE)
    with serving(say) as server:
        ran = ask(server.url)
    assert ran.returncode == 2 and "--name" in ran.stderr and not server.requests


def test_a_second_run_on_the_same_folder_says_so(workspace: Workspace, ask: Ask) -> None:
    with serving(say) as server, lock_attempts(workspace, NAME):
        ran = ask(server.url)
        assert ran.returncode == 3 and f"another harness ask is at work on submissions/{NAME}" in ran.stderr
        assert not server.requests
        assert ask(server.url, "--name", "other").returncode == 0


def test_a_dry_run_asks_nothing_and_tells_how_much_it_would(workspace: Workspace, ask: Ask) -> None:
    with serving(say) as server:
        ran = ask(server.url, "-n", "4", "--turns", "3", "--dry-run")
    assert ran.returncode == 0 and not server.requests and not workspace.submissions_folder.exists()
    assert f"{CHALLENGE_ID}: 4 to ask for, 0 there" in ran.stdout
    assert f"4 to 12 calls of acme/M 1 at {server.url}" in ran.stdout


def test_a_disk_that_cannot_be_written_is_told(workspace: Workspace, ask: Ask) -> None:
    (workspace.root / "submissions").write_text("in the way")
    with serving(say) as server:
        ran = ask(server.url)
        assert ran.returncode == 3 and "cannot be written" in ran.stderr
        (workspace.root / "submissions").unlink()
        assert ask(server.url).returncode == 0
    assert len(server.requests) == 1, "the reply that came was kept"
