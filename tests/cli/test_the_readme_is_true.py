"""What the README and the docs name exists: commands and options parse, outputs are of real commands, links lead on."""

import json
import re
import shlex
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from types import ModuleType

import pytest
import typer.main

from harness.cli.main import app
from harness.probing.challenge_code.code import ChallengeCode
from harness.review import reviews_of
from harness.workspace import Workspace

CHECKOUT = Path(__file__).parents[2]
PAGES = {
    path.relative_to(CHECKOUT).as_posix(): path.read_text()
    for path in (CHECKOUT / "README.md", *(CHECKOUT / "docs").glob("*.md"))
}
README = PAGES["README.md"]


@pytest.fixture(scope="module")
def refresh() -> ModuleType:
    path = CHECKOUT / "docs" / "refresh.py"
    module = ModuleType("refresh")
    module.__file__ = str(path)
    sys.modules["refresh"] = module
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module


def named_commands() -> set[str]:
    """Every command line of `harness` in the pages: in code spans, consoles and output marks."""
    found = set()
    for text in PAGES.values():
        found |= set(re.findall(r"`(harness [a-z-][^`\n]*)`", text))
        found |= set(re.findall(r"^\$ (harness [^#\n]+)", text, re.MULTILINE))
        found |= set(re.findall(r"<!-- output: (harness [^|>]+?)(?: \||\s+-->)", text))
    return {line.strip() for line in found}


@pytest.mark.parametrize("line", sorted(named_commands()))
def test_every_command_parses(line: str) -> None:
    words = shlex.split(line)[1:]
    command = typer.main.get_command(app)
    if words[0].startswith("-"):
        assert words[0] in {option for p in command.params for option in p.opts}
        return
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        if words[0] == "COMMAND":
            return
        assert words[0] in command.commands, f"no command {words[0]!r}"
        command = command.commands[words.pop(0)]
    options = {option: p for p in command.params for option in p.opts} | {"--help": None}
    ours = words[: words.index("--")] if "--" in words else words
    given = [word for word in ours if word.startswith("-")]
    assert set(given) <= set(options), given


def test_there_are_commands_to_find() -> None:
    assert {"harness scoreboard", "harness doctor", "harness check"} <= named_commands()


def test_make_targets_exist() -> None:
    rules = (CHECKOUT / "Makefile").read_text()
    named = set(re.findall(r"(?:`|^\$ )make ([a-z]+)\b", README, re.MULTILINE))
    assert {"grade", "test", "check", "lint", "bench", "clean"} <= named
    for target in named:
        assert re.search(rf"^{target}:", rules, re.MULTILINE), target


def test_every_exit_code_is_that_of_the_help() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "harness", "--help"], capture_output=True, text=True, check=True
    ).stdout
    codes = re.findall(r"^\| (\d+) \|", PAGES["docs/commands.md"], re.MULTILINE)
    assert codes == re.findall(r"^    (\d+)  ", told, re.MULTILINE)


def test_the_date_of_the_grades_is_that_of_the_latest_record() -> None:
    records = map(json.loads, (path.read_text() for path in CHECKOUT.glob("reports/records/*/*.json")))
    latest = max(datetime.fromisoformat(record["made"]) for record in records if record["provenance"] != "baseline")
    assert f"on {latest.day} {latest:%B %Y} at the latest" in " ".join(README.split())


def test_links_lead_to_files() -> None:
    for page, text in PAGES.items():
        for link in re.findall(r"\]\((?!http)([^)#]+)", text):
            assert (CHECKOUT / page).parent.joinpath(link).exists(), (page, link)


def test_every_output_is_marked_with_its_command(refresh: ModuleType) -> None:
    shown = {line.split()[1] for text in PAGES.values() for line in commands_shown(refresh, text)}
    assert shown >= {"show", "replay", "check", "scoreboard", "cuda"}
    for page, text in PAGES.items():
        marked = list(refresh.BLOCK.finditer(text))
        assert text.count("```text") == len(marked), page
        for match in marked:
            body = match[0].partition("```text\n")[2].removesuffix("```\n")
            assert body.startswith(f"$ {match['command']}\n"), page


def commands_shown(refresh: ModuleType, text: str) -> list[str]:
    return [match["command"] for match in refresh.BLOCK.finditer(text)]


def test_the_figures_in_the_readme_are_those_of_the_records() -> None:
    workspace = Workspace(CHECKOUT)
    hidden = ("kv_cache", "fused_softmax_topk")
    marked = [r for r in reviews_of(workspace) if r.challenge in hidden and r.overall is not None]
    given = [r.overall for r in marked if r.overall is not None]
    ran = [r for r in workspace.records() if (r.model, r.challenge) in {(m.model, m.challenge) for m in marked}]
    measured = [r.overall.score for r in ran if r.overall.score is not None]
    told = f"marks of {min(given):g} to {max(given):g} become {min(measured):g} to {max(measured):g}"
    assert told in README


def test_the_readme_counts_the_answers_that_a_check_runs() -> None:
    workspace = Workspace(CHECKOUT)
    code = ChallengeCode(workspace, workspace.challenge("layernorm_backward"))
    counts = {kind: int(count) for kind, count in re.findall(r"^(variant|mutant) +(\d+) of \2", README, re.MULTILINE)}
    assert counts == {"variant": len(code.variants), "mutant": len(code.mutants)}


def test_refreshing_replaces_outputs_and_nothing_else(refresh: ModuleType) -> None:
    two = "<!-- output: two | first 2 lines | exits 1 -->\n```text\n"
    text = f"a\n<!-- output: one --one -->\n```text\nold\n```\nb\n{two}```\nc\n"
    outputs = {"one --one": refresh.Ran(0, "new\n", ""), "two": refresh.Ran(1, "1\n2\n3\n", "")}
    made, failed = refresh.refreshed(text, outputs.__getitem__)
    assert not failed
    assert made == (
        "a\n<!-- output: one --one -->\n```text\n$ one --one\nnew\n```\n"
        f"b\n{two}$ two\n1\n2\n... 1 more lines\n```\nc\n"
    )
    assert refresh.refreshed(made, outputs.__getitem__) == (made, [])
    outputs["two"] = refresh.Ran(2, "", "error: no such thing")
    kept, failed = refresh.refreshed(made, outputs.__getitem__)
    assert kept == made
    assert failed == ["`two` exits 2: \nerror: no such thing"]


def test_what_needs_answers_that_are_not_here_stays(
    refresh: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh, "ROOT", tmp_path)
    text = "<!-- output: replay it | needs answers -->\n```text\n$ replay it\nold\n```\n"
    assert refresh.refreshed(text, lambda command: refresh.Ran(2, "", "not here")) == (text, [])
    (tmp_path / ".harness" / "collections" / "answers").mkdir(parents=True)
    made, failed = refresh.refreshed(text, lambda command: refresh.Ran(0, "new\n", ""))
    assert made == text.replace("old", "new")
    assert not failed


def test_a_replay_that_needs_an_answer_shows_the_seed_of_its_record(refresh: ModuleType) -> None:
    """The record is committed, the answer is not."""
    assert refresh.unrecorded(README) == []
    stale = re.sub(r"(?m)^(seed +)\d+$", r"\g<1>12", README)
    assert len(refresh.unrecorded(stale)) == README.count("<!-- output: harness replay ")


def test_a_check_does_not_run_what_takes_minutes(refresh: ModuleType) -> None:
    text = "<!-- output: check it | first 2 lines | takes minutes -->\n```text\n$ check it\nold\n```\n"
    ran = lambda command: refresh.Ran(0, "new\n", "")  # noqa: E731
    assert refresh.refreshed(text, ran, slow=False) == (text, [])
    assert refresh.refreshed(text, ran)[0] == text.replace("old", "new")


def test_an_edited_figure_is_found_and_a_fresh_seed_is_none(refresh: ModuleType) -> None:
    text = "<!-- output: check it -->\n```text\n$ check it\nit (seed 7)\nmutant 83 of 83\n```\n"
    made, _ = refresh.refreshed(text, lambda command: refresh.Ran(0, "it (seed 8)\nmutant 83 of 83\n", ""))
    assert made != text
    assert refresh.differing(text, made) == []
    (found,) = refresh.differing(text.replace("83 of", "84 of"), made)
    assert found == "`check it`: the page shows 'mutant 84 of 83', it prints 'mutant 83 of 83'"
    (found,) = refresh.differing(text.replace("mutant 83 of 83\n", ""), made)
    assert "it prints 'mutant 83 of 83'" in found


def test_an_edited_report_is_found(refresh: ModuleType, tmp_path: Path) -> None:
    committed, rendered = tmp_path / "reports", tmp_path / "rendered"
    for root in (committed, rendered):
        (root / "rounds").mkdir(parents=True)
        for name in ("scoreboard.md", "rounds/all.md"):
            (root / name).write_text("| glm-5 | 59 |\n")
    assert refresh.stale(committed, rendered) == []
    (committed / "rounds" / "all.md").write_text("| glm-5 | 95 |\n")
    (committed / "old.md").write_text("")
    assert [line.partition(":")[0] for line in refresh.stale(committed, rendered)] == [
        "reports/old.md", "reports/rounds/all.md"
    ]  # fmt: skip


def test_a_check_compares_the_committed_reports_with_those_rendered_now(
    refresh: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page of reports/ that somebody edited is named, although no command that a page shows prints it."""

    def render(command: str) -> object:
        assert command.startswith("harness report --out ")
        (Path(shlex.split(command)[-1]) / "scoreboard.md").write_text("| glm-5 | 59 |\n")
        return refresh.Ran(0, "", "")

    committed = tmp_path / "reports" / "scoreboard.md"
    committed.parent.mkdir()
    monkeypatch.setattr(refresh, "ROOT", tmp_path)
    monkeypatch.setattr(refresh, "run", render)
    committed.write_text("| glm-5 | 95 |\n")
    assert refresh.wrong({}) == ["reports/scoreboard.md: not what `harness report` makes of the records"]
    committed.write_text("| glm-5 | 59 |\n")
    assert refresh.wrong({}) == []


def test_a_check_ends_with_1_where_a_page_is_not_what_is_made(
    refresh: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- output: marks -->\n```text\n$ marks\n95\n```\n")
    (tmp_path / "reports").mkdir()
    monkeypatch.setattr(refresh, "PAGES", (page,))
    monkeypatch.setattr(refresh, "ROOT", tmp_path)
    monkeypatch.setattr(refresh, "run", lambda command: refresh.Ran(0, "59\n", ""))
    monkeypatch.setattr(refresh.refreshed, "__defaults__", (refresh.run,))
    monkeypatch.setattr(sys, "argv", ["refresh.py", "--check"])
    before = page.read_text()
    assert refresh.main() == 1
    assert "the page shows '95', it prints '59'" in capsys.readouterr().err
    assert page.read_text() == before
    monkeypatch.setattr(sys, "argv", ["refresh.py"])
    assert refresh.main() == 0
    monkeypatch.setattr(sys, "argv", ["refresh.py", "--check"])
    assert refresh.main() == 0
