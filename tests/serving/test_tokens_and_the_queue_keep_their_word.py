"""A token is shown once and compared as a hash; what the queue has accepted it keeps, once, in order."""

import json
import os
import sqlite3
import stat
from pathlib import Path

import pytest

from harness.errors import NotFoundError, SpecError, StoreError
from harness.serving.job_queue import AcceptedAnswer, JobQueue, JobState, KeyReused, QueueFull
from harness.serving.requests import GradeRequest
from harness.serving.tokens import Scope, TokenFile, TokenList
from tests.commands import called


def accepted(id: str, content: str = "c", options: str = "o") -> AcceptedAnswer:
    return AcceptedAnswer(id, content, options, "scaled_sum", "reward", b"{}")


@pytest.fixture
def queue(tmp_path: Path) -> JobQueue:
    made = JobQueue(tmp_path / "queue.sqlite", room=3)
    made.open()
    return made


def test_a_token_is_kept_as_a_hash_in_a_private_file(tmp_path: Path) -> None:
    file = TokenFile(tmp_path / "tokens.json")
    token = file.add("trainer", (Scope.GRADE,))
    assert token.startswith("hk_") and len(token) > 40
    assert token not in file.path.read_text() and stat.S_IMODE(os.stat(file.path).st_mode) == 0o600
    owner = file.owner(token)
    assert owner is not None and owner.name == "trainer"
    assert file.owner(token[:-1]) is None and file.owner("") is None and file.owner("\udcff" * 10**6) is None


def test_every_digit_of_a_tokens_hash_is_compared(tmp_path: Path) -> None:
    """A token whose hash differs in one place from one that is kept is no token."""
    file = TokenFile(tmp_path / "tokens.json")
    token = file.add("trainer", (Scope.GRADE,))
    (entry,) = file.entries()
    for place in range(64):
        other = format(int(entry.sha256[place], 16) ^ 1, "x")
        almost = entry.model_copy(update={"sha256": entry.sha256[:place] + other + entry.sha256[place + 1 :]})
        near = TokenFile(tmp_path / f"{place}.json")
        near.path.write_bytes(TokenList(tokens=(almost,)).to_json().encode())
        assert near.owner(token) is None, f"digit {place} of the hash is not compared"
    assert file.owner(token) == entry


def test_every_character_of_a_token_counts_and_none_may_follow(tmp_path: Path) -> None:
    file = TokenFile(tmp_path / "tokens.json")
    token = file.add("trainer", (Scope.GRADE,))
    for place, sign in enumerate(token):
        other = "B" if sign == "A" else "A"
        assert file.owner(token[:place] + other + token[place + 1 :]) is None, f"character {place} does not count"
        assert file.owner(token[:place]) is None and file.owner(token[:place] + token[place + 1 :]) is None
    for more in ("x", " ", "\0", "\n", "=", token, "x" * 10_000):
        assert file.owner(token + more) is None and file.owner(more + token) is None


def test_a_token_that_was_taken_back_is_refused_at_once(tmp_path: Path) -> None:
    file, other = TokenFile(tmp_path / "tokens.json"), TokenFile(tmp_path / "tokens.json")
    token = file.add("trainer", (Scope.READ,))
    assert other.owner(token)
    file.remove("trainer")
    assert other.owner(token) is None
    with pytest.raises(NotFoundError, match="no token 'trainer'"):
        file.remove("trainer")


def test_a_damaged_file_of_tokens_lets_nobody_in(tmp_path: Path) -> None:
    file = TokenFile(tmp_path / "tokens.json")
    token = file.add("trainer", (Scope.READ,))
    file.path.write_text(file.path.read_text()[:-20])
    with pytest.raises(StoreError):
        file.owner(token)


def test_tokens_are_made_listed_and_removed_by_commands(tmp_path: Path) -> None:
    (tmp_path / "challenges").mkdir()
    made = called(tmp_path, "serve", "token", "add", "trainer", "--scope", "grade")
    assert made.returncode == 0 and made.stdout.startswith("hk_") and made.stdout.count("\n") == 1
    listed = called(tmp_path, "serve", "token", "ls").stdout
    assert "trainer" in listed and made.stdout.strip() not in listed
    assert called(tmp_path, "serve", "token", "add", "trainer", "--scope", "read").returncode == 2
    assert called(tmp_path, "serve", "token", "add", "x", "--scope", "grad").returncode == 2
    assert called(tmp_path, "serve", "token", "add", "../x", "--scope", "read").returncode == 2
    assert called(tmp_path, "serve", "token", "rm", "trainer").returncode == 0
    assert called(tmp_path, "serve", "token", "rm", "trainer").returncode == 2


def test_equal_content_is_one_work_until_it_is_finished(queue: JobQueue) -> None:
    first, second = queue.accept([accepted("a"), accepted("b")], "one", "batch")
    (third,) = queue.accept([accepted("c")], "two")
    assert first.work == second.work == third.work
    (work,) = queue.take(10)
    queue.finish(work.number, b'{"x": 1}')
    assert [job.record for job in queue.jobs("batch", batch=True)] == [b'{"x": 1}'] * 2
    (again,) = queue.accept([accepted("d")], "one")
    assert again.work != first.work and again.state is JobState.WAITING


def test_a_request_that_is_sent_again_is_the_same_job(queue: JobQueue) -> None:
    assert queue.accept([accepted("a")], "one") == queue.accept([accepted("a")], "one")
    assert queue.counts() == (1, 0)
    with pytest.raises(KeyReused):
        queue.accept([accepted("a", "other")], "one")


def test_a_key_stands_for_the_whole_request_it_came_with(queue: JobQueue) -> None:
    """Neither part of a batch, nor more, nor another order, nor its only answer alone is the same request."""
    one, two, three = (accepted(f"k-{place}", content) for place, content in enumerate("abc"))
    first = queue.accept([one, two], "one", "k")
    assert queue.accept([one, two], "one", "k") == first
    swapped = [accepted("k-0", "b"), accepted("k-1", "a")]
    for answers, batch in (([one], "k"), ([one, two, three], "k"), (swapped, "k"), ([accepted("k", "a")], None)):
        with pytest.raises(KeyReused):
            queue.accept(answers, "one", batch)
    assert queue.jobs("k", batch=True) == first and queue.counts() == (2, 0)
    queue.accept([accepted("s", "a")], "one")
    with pytest.raises(KeyReused):
        queue.accept([accepted("s-0", "a")], "one", "s")


def test_jobs_of_a_file_that_knew_owners_by_name_are_nobodys(tmp_path: Path) -> None:
    queue = JobQueue(tmp_path / "queue.sqlite", room=3)
    queue.open()
    queue.accept([accepted("a")], "trainer")
    queue.accept([accepted("b")], "")
    with sqlite3.connect(queue._database.path) as connection:
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    assert JobQueue(queue._database.path, room=3).open() == 1
    owners = {id: queue.jobs(id)[0].owner for id in "ab"}
    assert owners["a"] not in ("", "trainer") and owners["b"] == "", "one sent without a token is as it was"


def test_a_batch_without_room_leaves_nothing(queue: JobQueue) -> None:
    with pytest.raises(QueueFull):
        queue.accept([accepted(str(n), f"c{n}") for n in range(4)], "one", "batch")
    assert queue.counts() == (0, 0) and queue.jobs("batch", batch=True) == []
    queue.accept([accepted(str(n), f"c{n}") for n in range(3)], "one")
    with pytest.raises(QueueFull):
        queue.accept([accepted("x", "cx")], "one")
    queue.accept([accepted("y", "c1")], "one")  # it waits already


def test_what_a_killed_server_was_grading_waits_again(queue: JobQueue) -> None:
    queue.accept([accepted("a", "c1"), accepted("b", "c2", "other")], "one")
    (work,) = queue.take(10)
    assert work.number == 1 and queue.counts() == (1, 1)
    assert queue.open() == 2
    assert [work.number for work in queue.take(1)] == [1]


def test_the_record_of_a_finished_work_stays(queue: JobQueue) -> None:
    """A grader that was thought dead and answers late changes nothing."""
    (job,) = queue.accept([accepted("a")], "one")
    queue.take(1)
    queue.finish(job.work, b"1")
    queue.finish(job.work, b"2")
    queue.give_back(job.work, died=True)
    assert [found.record for found in queue.jobs("a")] == [b"1"] and queue.take(1) == []


def test_an_answer_is_forgotten_with_its_grade_and_its_record_in_time(queue: JobQueue) -> None:
    (job,) = queue.accept([accepted("a")], "one")
    queue.take(1)
    queue.finish(job.work, b"1")
    with sqlite3.connect(queue._database.path) as connection:
        assert connection.execute("SELECT request FROM works").fetchone() == (None,)
    connection.close()
    assert queue.forget(0.0) == 0 and queue.jobs("a")
    assert queue.forget(1e12) == 1 and queue.jobs("a") == []


NAMES = (
    "../answer.py", "/etc/passwd", "a/../../b.py", "a//b.py", "./a.py", "a/./b.py", "..", ".", "a\\..\\b.py", "a/",
    "nul\0.py", "line\nbreak.py", "-rf.py", " a.py", "a /b.py", "\u202egnp.py", "\x1b[2J.py", "x" * 201, "\u00e9" * 101,
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_path_that_leads_elsewhere_is_refused(name: str) -> None:
    body = json.dumps({"challenge": "scaled_sum", "files": {name: ""}})
    with pytest.raises(ValueError, match="a file's path"):
        GradeRequest.model_validate_json(body)


def test_equal_requests_have_equal_content_whatever_their_order() -> None:
    files = {"a.py": "1", "b.py": "2"}
    texts = [{"challenge": "c", "files": dict(items)} for items in (files.items(), reversed(files.items()))]
    first, second = (GradeRequest.model_validate_json(json.dumps(text)) for text in texts)
    assert first.content == second.content
    assert first.content != first.model_copy(update={"model": "other"}).content


def test_a_second_token_of_a_name_is_refused(tmp_path: Path) -> None:
    file = TokenFile(tmp_path / "tokens.json")
    file.add("trainer", (Scope.GRADE,))
    with pytest.raises(SpecError, match="has a token 'trainer' already"):
        file.add("trainer", (Scope.GRADE,))
