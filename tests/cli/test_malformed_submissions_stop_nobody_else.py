"""A malformed submission gives one message that names its file and field, and the rest of the run goes on."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_runs import ABOUT, Run, Submit


def _replaced(old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "submission.toml"
        assert path.read_text().count(old) == 1
        path.write_text(path.read_text().replace(old, new))

    return change


def _added(text: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with (folder / "submission.toml").open("a") as file:
            file.write(text)

    return change


def _in_place(make: Callable[[Path], object], name: str = "submission.toml") -> Callable[[Path], None]:
    """Something else where the file was, or nothing."""

    def change(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return change


def _bytes(data: bytes) -> Callable[[Path], None]:
    return _in_place(lambda path: path.write_bytes(data))


def _linked_to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


def _moved(to: str) -> Callable[[Path], None]:
    """The entry under another name, which is stated."""

    def change(folder: Path) -> None:
        (folder / to).parent.mkdir(exist_ok=True)
        (folder / "answer.py").rename(folder / to)
        _replaced("answer.py", to)(folder)

    return change


PROVENANCE = 'provenance = "model-output"\n'
FIELD = "submission.toml: submission"
Case = tuple[Callable[[Path], None], str, str]
CASES: dict[str, Case] = {
    "empty": (_bytes(b""), "submission.toml", "is empty"),
    "not-utf8": (_bytes(b"model = '\xff'"), "submission.toml", "is not UTF-8 (byte 9)"),
    "not-toml": (_bytes(b"[submission"), "submission.toml", "is not TOML"),
    "too-deep": (_bytes(b"a = " + b"[" * 100_000), "submission.toml", "is not TOML"),
    "directory": (_in_place(Path.mkdir), "submission.toml", "is not a regular file"),
    "pipe": (_in_place(os.mkfifo), "submission.toml", "is not a regular file"),
    "endless": (_in_place(_linked_to("/dev/zero")), "submission.toml", "is not a regular file"),
    "huge": (lambda folder: os.truncate(folder / "submission.toml", 1 << 40), "submission.toml", "is over 1 MiB"),
    "wrong-type": (_replaced('"answer.py"', "3"), FIELD + ".entry", "got 3"),
    "wrong-list": (_added("[tests]\ncommand = 'pytest'\n"), "submission.toml: tests.command", "got 'pytest'"),
    "unknown-key": (_added("entri = 'x'\n"), FIELD + ".entri", "did you mean 'entry'"),
    "unknown-table": (_added("[claim]\nvalue = 1\n"), "submission.toml: claim", "did you mean 'claims'"),
    "unknown-model": (_replaced('"unknown-model"', '"somebody"'), FIELD + ".model", "'unknown-model'"),
    "unknown-challenge": (_replaced('"rows"', '"row"'), FIELD + ".challenge", "did you mean 'rows'"),
    "no-provenance": (_replaced(PROVENANCE, ""), FIELD + ".provenance", "required"),
    "bad-date": (_added("date = 'yesterday'\n"), FIELD + ".date", "got 'yesterday'"),
    "other-language": (_added("language = 'cuda'\n"), FIELD + ".language", "answered in 'python'"),
    "missing-entry": (_replaced("answer.py", "anser.py"), FIELD + ".entry", "names 'anser.py'"),
    "upward-path": (_replaced("answer.py", "../../good/rows/answer.py"), FIELD + ".entry", "without '..'"),
    "absolute-path": (_replaced("answer.py", "/etc/passwd"), FIELD + ".entry", "relative path"),
    "nul-in-path": (_replaced("answer.py", r"\u0000.py"), FIELD + ".entry", "which is not in"),
    "folder-as-entry": (_in_place(Path.mkdir, "answer.py"), FIELD + ".entry", "which is not in"),
    "unknown-language": (_added("language = 'pyhton'\n"), FIELD + ".language", "did you mean 'python'"),
    "no-python-entry": (_moved("answer.txt"), FIELD + ".entry", "must be one .py file"),
    "several-entries": (_replaced('"answer.py"', '["answer.py"]'), FIELD + ".entry", "must be one .py file"),
    "absolute-among-several": (_replaced('"answer.py"', '["answer.py", "/etc/passwd"]'), FIELD + ".entry.1",
                               "relative path"),
    "no-name-among-several": (_replaced('"answer.py"', '["answer.py", 3]'), FIELD + ".entry.1", "got 3"),
    "option-as-entry": (_replaced("answer.py", "-o.py"), FIELD + ".entry", "must not begin with '-'"),
    "long-entry": (_replaced("answer.py", "\u00e9" * 190 + ".py"), FIELD + ".entry", "which is not in"),
    "entry-left-out": (_moved("reviews/answer.py"), FIELD + ".entry", "which is not in"),
    "endless-key": (_added(".".join("a" * 100_000) + " = 1\n"), "submission.toml", "a key of over 16 parts"),
    "long-key": (_added("a" * 100_000 + " = 1\n"), FIELD + "." + "a" * 46 + "...", "unknown key"),
    "long-number": (_added("date = 1" + "0" * 5000 + "\n"), "submission.toml", "is not TOML: Exceeds"),
    "long-hex-number": (_added("date = 0x1" + "0" * 5000 + "\n"), "submission.toml", "more than 64 bits"),
    "number-as-date": (_added("date = 0\n"), FIELD + ".date", "such as 2026-04-22"),
    "endless-command": (_added("[tests]\ncommand = [" + "'a'," * 10_000 + "]\n"), "submission.toml: tests.command",
                        "at most 1000 items"),
    "claim-in-words": (_added("[[claims]]\nquantity = 'k'\nvalue = 'one'\n"), "submission.toml: claims.0.value",
                       "got 'one'"),
    "absent-source": (_added("[[claims]]\nquantity = 'k'\nvalue = 1\nwhere = 'NO.md'\n"),
                      "submission.toml: claims.where", "names 'NO.md'"),
    "odd-capability": (_added("[capabilities]\ngqa = 'yes'\n"), "submission.toml: capabilities.gqa", "must be true"),
    "link": (_in_place(_linked_to("/etc/passwd"), "answer.py"), "answer.py", "is a link"),
    "linked-folder": (lambda folder: (folder / "more").symlink_to("/etc"), "more", "is a link"),
}  # fmt: skip


def test_an_entry_that_is_not_there_is_named_with_the_file_that_is(run: Run, submit: Submit) -> None:
    """As of a new submission whose answer came under another name."""
    folder = submit("good")
    (folder / "answer.py").rename(folder / "solution.py")
    assert 'it holds solution.py: say  entry = "solution.py"' in run("grade", "good").stderr
    (folder / "solution.py").unlink()
    assert "put the answer there, or name its file as the entry" in run("grade", "good").stderr


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_each_is_told_and_the_rest_is_graded(run: Run, submit: Submit, root: Path, jobs: str) -> None:
    for name, (spoil, _, _) in CASES.items():
        spoil(submit(name))
    submit("good")
    submit("zealous")
    done = run("grade", "--all", "-j", jobs)
    assert done.returncode == 2
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    told = {name: [line for line in errors if f"/{name}/rows/" in line] for name in CASES}
    for name, (_, where, words) in CASES.items():
        assert len(told[name]) == 1, (name, told[name])
        assert f"submissions/{name}/rows/{where}: " in told[name][0]
        assert words in told[name][0]
    assert len(errors) == len(CASES)
    assert "Traceback" not in done.stderr
    records = sorted(path.name for path in (root / "reports" / "records" / "rows").iterdir())
    assert records == ["good.json", "zealous.json"]


def test_a_folder_without_submission_toml_is_told(run: Run, submit: Submit, root: Path) -> None:
    folder = submit("good")
    (folder / "submission.toml").unlink()
    done = run("grade", str(folder))
    assert done.returncode == 2
    assert f"{folder} holds no submission.toml" in done.stderr


def test_a_malformed_one_is_listed_with_its_fault(run: Run, submit: Submit) -> None:
    submit("good")
    submit("bad", about=ABOUT.replace("answer.py", "anser.py"))
    done = run("ls", "submissions")
    assert done.returncode == 0
    assert "malformed" in done.stdout
    assert "good/rows" in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "field", "words"),
    [
        (
            'severity = "minor"\ntitle = "Logits',
            'severity = "tiny"\ntitle = "Logits',
            "criteria.arguments.severity",
            "tiny",
        ),
        ('anchor = "values"', 'anchor = "value"', "", "anchor 'value'"),
        ('probes = ["masked_logits"]', 'probes = ["masked"]', "criteria.masked_logits.probes", "masked"),
        ('metric = "complexity"', 'metrics = "complexity"', "criteria.complexity.metrics", "unknown key"),
    ],
)
def test_a_malformed_challenge_names_its_field(
    run: Run, submit: Submit, root: Path, old: str, new: str, field: str, words: str
) -> None:
    submit("good")
    path = root / "challenges" / "rows" / "challenge.toml"
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))
    done = run("grade", "good")
    assert done.returncode == 2
    assert f"{path}: {field}" in done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
