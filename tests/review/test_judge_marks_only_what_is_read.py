"""A judge is asked what cannot be executed and nothing else, does not learn who answered, and is told what was cut."""

import tomllib
from pathlib import Path

import pytest
from judge_server import QUESTIONS, Command, Request, serving, submit

from harness.errors import SpecError
from harness.review import material, read_reviews
from harness.review.case import Case
from harness.sandbox import hash_folder
from harness.workspace import Workspace


def review(command: Command, url: str, *more: str) -> None:
    ran = command("review", "acme-7b/rows", "--judge", url, "--model", "Judge/One", *more)
    assert ran.code == 0, ran.err


def test_a_review_is_written_as_it_is_read(root: Path, command: Command) -> None:
    folder = submit(root, "acme-7b", NOTES__md="The cost is rows times columns.\n")
    marks = iter((70.0, 90.0, 85.0))

    def well(request: Request) -> None:
        request.mark(next(marks), quotes=[{"file": "answer.py", "text": "return x.sum(axis=1)"}])

    before = hash_folder(folder)
    with serving(well) as server:
        review(command, server.url)
    (read,) = read_reviews(Workspace(root).challenge("rows"), folder)
    assert (read.reviewer.kind, read.reviewer.id) == ("model", "judge-one")
    assert [(m.target, m.mark, m.repeats) for m in read.marks] == [(q, 85, (70, 90, 85)) for q in QUESTIONS]
    assert [m.remark for m in read.marks] == ["For 85."] * 2
    assert [(q.file, q.text) for q in read.marks[0].quotes] == [("answer.py", "return x.sum(axis=1)")]
    assert hash_folder(folder) == before, "a review is no part of what is graded"


def test_only_questions_for_reviewers_are_asked(root: Path, command: Command) -> None:
    submit(root, "acme-7b")
    with serving(Request.mark) as server:
        review(command, server.url)
    for request in server.requests:
        schema = request.body["response_format"]["json_schema"]["schema"]
        assert schema["$defs"]["JudgedMark"]["properties"]["question"]["enum"] == list(QUESTIONS)
        asked = request.user.partition("# The questions")[2].partition("# The material")[0]
        assert "readability" in asked
        assert "values" not in asked
        assert "Every sum equals the oracle" not in request.user


def test_a_mark_for_what_is_measured_is_refused(root: Path, command: Command) -> None:
    submit(root, "acme-7b")
    with serving(lambda request: request.mark(question="values")) as server:
        ran = command("review", "acme-7b/rows", "--judge", server.url, "--model", "m")
    assert ran.code == 3
    assert "there is no question 'values'" in ran.err


@pytest.mark.parametrize("written", ["acme-7b", "Acme 7B", "ACME_7b", "acme7b", "other-x1"])
def test_the_judge_does_not_learn_who_answered(root: Path, command: Command, written: str) -> None:
    submit(root, "other-x1")
    folder = submit(root, "acme-7b", NOTES__md=f"Written by {written} itself.\n")
    (folder / f"{written.replace(' ', '_')}_kernel.py").write_text("x = 1\n")
    with serving(Request.mark) as server:
        review(command, server.url)
    for request in server.requests:
        seen = str(request.body["messages"]).lower()
        assert written.lower() not in seen
        assert "acme" not in seen
        assert f"Written by {material.HIDDEN} itself." in request.shown()


def test_words_about_a_hidden_name_are_quoted_as_the_file_has_them(root: Path, command: Command) -> None:
    folder = submit(root, "acme-7b", NOTES__md="Plain.\nAcme 7B needs one pass.\n")
    quote = {"file": "NOTES.md", "text": f"{material.HIDDEN} needs one"}
    with serving(lambda request: request.mark(quotes=[quote])) as server:
        review(command, server.url)
    (read,) = read_reviews(Workspace(root).challenge("rows"), folder)
    assert read.marks[0].quotes[0].text == "Acme 7B needs one"


def test_a_baseline_s_plain_name_stays(root: Path) -> None:
    folder = submit(root, "baseline", NOTES__md="Twice as fast as the baseline.\n")
    about = folder / "submission.toml"
    about.write_text(about.read_text().replace("model-output", "baseline"))
    case = Case.open(Workspace(root), "baseline/rows")
    assert any("as the baseline" in case.material.mask.hide(file.text) for file in case.material.files)


def test_what_is_cut_is_told_to_judge_and_reader(root: Path, command: Command) -> None:
    long = "".join(f"line {n}\n" for n in range(material.MAX_FILE))
    folder = submit(root, "acme-7b", long__txt=long)
    (folder / "picture.bin").write_bytes(b"\0\1")
    with serving(Request.mark) as server:
        ran = command("review", "acme-7b/rows", "--judge", server.url, "--model", "m", "--repeats", "1")
    (request,) = server.requests
    shown = request.shown()
    assert len(shown) < material.MAX_FILE + 2_000
    for words in (f"of {material.MAX_FILE}", "picture.bin", "not shown: no text"):
        assert words in shown
        assert words in ran.err
    assert "submission.toml" not in shown


def test_all_files_together_are_bounded(root: Path) -> None:
    folder = submit(root, "acme-7b")
    for number in range(20):
        (folder / f"part{number:02}.txt").write_text("words and words\n" * 3_000)
    shown = Case.open(Workspace(root), "acme-7b/rows").material.files
    assert sum(len(file.text) for file in shown) <= material.MAX_SHOWN
    assert shown[-1].cut == "not shown: there is too much text"


def test_an_existing_review_is_replaced_only_when_told_to(root: Path, command: Command) -> None:
    folder = submit(root, "acme-7b")
    with serving(Request.mark) as server:
        arguments = ("review", "acme-7b/rows", "--judge", server.url, "--model", "m", "--name", "mine")
        assert command(*arguments).code == 0
        written = (folder / "reviews" / "mine.toml").read_text()
        asked = len(server.requests)
        ran = command(*arguments)
        assert ran.code == 2
        assert "exists already" in ran.err
        assert len(server.requests) == asked, "nothing is paid for what cannot be stored"
        assert command(*arguments, "--force", "--repeats", "1").code == 0
    again = (folder / "reviews" / "mine.toml").read_text()
    hashes = [tomllib.loads(text)["reviewer"]["prompt_hash"] for text in (written, again)]
    assert hashes[0] == hashes[1], "the hash is that of what was asked, not of the answer or the moment"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [("challenge.toml", "Do the names help?", "Do the names hinder?"), ("PROMPT.md", "rows", "columns")],
)
def test_the_hash_follows_what_is_asked(root: Path, file: str, old: str, new: str) -> None:
    folder = submit(root, "acme-7b")
    before = Case.open(Workspace(root), "acme-7b/rows").questions.hash
    (folder / "answer.py").write_text("another = 1\n")
    assert Case.open(Workspace(root), "acme-7b/rows").questions.hash == before
    path = root / "challenges" / "rows" / file
    path.write_text(path.read_text().replace(old, new))
    assert Case.open(Workspace(root), "acme-7b/rows").questions.hash != before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["acme-7/rows"], "did you mean 'acme-7b/rows'"),
        (["acme-7b"], "is no MODEL/CHALLENGE"),
        (["acme-7b/rows", "--against", "acme-7b"], "gave this answer itself"),
        (["acme-7b/rows", "--against", "nobody"], "no submission"),
        (["acme-7b/rows", "--name", "../../x"], "cannot name a review"),
        (["acme-7b/rows", "--model", "//"], "no id can be made"),
        (["acme-7b/rows", "--judge", "localhost:8000"], "is no URL"),
        (["acme-7b/rows", "--judge", "http://[::"], "is no URL"),
    ],
)
def test_a_wrong_word_is_usage(root: Path, command: Command, arguments: list[str], words: str) -> None:
    submit(root, "acme-7b")
    given = arguments + [o for pair in (("--judge", "http://127.0.0.1:9/v1"), ("--model", "m")) for o in pair
                         if pair[0] not in arguments]  # fmt: skip
    ran = command("review", *given)
    assert (ran.code, "Traceback" in ran.err) == (2, False), ran.err
    assert words in ran.err


def test_a_link_for_a_folder_is_not_written_through(root: Path, command: Command) -> None:
    folder = submit(root, "acme-7b")
    elsewhere = root / "elsewhere"
    elsewhere.mkdir()
    (folder / "reviews").symlink_to(elsewhere)
    with serving(Request.mark) as server:
        ran = command("review", "acme-7b/rows", "--judge", server.url, "--model", "m")
    assert ran.code == 2
    assert "is a link" in ran.err
    assert not list(elsewhere.iterdir())


def test_a_challenge_that_asks_nothing_says_so(root: Path) -> None:
    submit(root, "acme-7b")
    spec = root / "challenges" / "rows" / "challenge.toml"
    spec.write_text(spec.read_text().replace('review = "', 'metric = "lint" # "'))
    with pytest.raises(Exception, match="no criterion with a question for reviewers"):
        Case.open(Workspace(root), "acme-7b/rows")


def test_an_empty_answer_is_not_sent(root: Path) -> None:
    folder = submit(root, "acme-7b")
    (folder / "answer.py").write_text("")
    with pytest.raises(SpecError, match="no text to be judged"):
        Case.open(Workspace(root), "acme-7b/rows")
