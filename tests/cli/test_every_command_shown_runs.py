"""Every harness command that the README and the docs show runs, and the steps to add a model and a challenge work."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import pytest
from cli_runs import ABOUT

from harness.cli import scaffold
from harness.workspace import Workspace
from tests.asking.asked_models import say
from tests.commands import called, environment
from tests.fewer_criteria import copied
from tests.review.judge_server import serving

CHECKOUT = Path(__file__).parents[2]
PAGES = [path.read_text(encoding="utf-8") for path in (CHECKOUT / "README.md", *(CHECKOUT / "docs").glob("*.md"))]
FAULTY = str(CHECKOUT / "tests" / "cuda" / "faults" / "broadcast_overwritten.cu")
NOBODY = "http://127.0.0.1:9"
"""Nothing listens there: asking it ends in a message, and no review is written."""
ONE = "one/rows"
STANDS_FOR = {
    "NAME": ONE, "NAME...": ONE, "MODEL/CHALLENGE": ONE, "my-model": "one", "my-model/my_kernel": ONE,
    "my-model/layernorm_backward": ONE, "qwen3.6-27b/kv_cache": ONE, "path/to/folder": f"submissions/{ONE}",
    "MODEL": "one", "CHALLENGE...": "rows", "CHALLENGE": "rows",
    "layernorm_backward": "rows", "my_kernel": "rows", "CRITERION": "values",
    "decode_history": "values", "prefill_stored": "values",
    "FILE.cu": FAULTY, "tests/cuda/faults/broadcast_overwritten.cu": FAULTY, "URL": NOBODY,
    "glm-5": "one", "qwen3.6-27b": "two", "kv_cache": "rows", "ternary_training": "rows",
    "BOARD": ".", "../their-board": ".", "../board-before": ".", "RECORD": ONE,
    "a.md": "reply.md", "b.md": "reply.md", "REPLY.md...": "reply.md",
    "softmax.cu": FAULTY, "main.cu": FAULTY, "./softmax": FAULTY, "./PROGRAM": FAULTY, "~/emulated": "FOLDER",
    "HOST:PORT": "127.0.0.1:1", "HEAD:6379": "127.0.0.1:1",
}  # fmt: skip
"""The small workspace's names for those on the pages."""
NAMED = {("new", "submission"), ("import", "reply"), *(("cuda", name) for name in ("cc", "check", "count", "toolkit"))}
"""Commands that the pages only name."""
FEWER = {"--generated": "2", "--seeds": "2", "--rewards": "2", "-n": "2", "--turns": "2"}
"""Of what a page shows many, two take the same way in a fraction of the time."""
ENDS_WITH = {"cuda check": 1, "review": 3, "grade one/rows --device": 2, "import collection": 2, "collection verify": 2,
             "grade --all --executor": 3}  # fmt: skip
"""Exit codes other than 0: a fault is found; no judge, no challenge in CUDA, no collection, no cluster is here."""


def shown() -> set[str]:
    """Command lines with anything after the command; a bare `harness grade` is only its name."""
    found: set[str] = set()
    for text in PAGES:
        found |= set(re.findall(r"`(harness [a-z][^`\n]*)`", text))
        found |= set(re.findall(r"^(?:\$ )?(harness [a-z][^#\n]+)", text, re.MULTILINE))
    return {line.strip() for line in found}


def stood_for(line: str) -> tuple[str, ...]:
    """The command line in the names of the small workspace; what makes something new gets a new name."""
    words = shlex.split(line)[1:]
    words = words[: words.index("--")] if "--" in words else words
    if words[:1] == ["new"] and len(words) > 2:
        return (*words[:2], {"submission": "fresh/rows"}.get(words[1], f"fresh_{words[1]}"))
    if words[:2] == ["import", "reply"]:
        words = words[: words.index("--claim")] if "--claim" in words else words  # the small challenge has no option
        fresh = "fresh_attempts" if "--attempt" in words else "fresh_reply"
        words = [fresh if before == "--model" else word for before, word in pairwise(["", *words])]
    if words[:2] == ["import", "samples"]:
        words = ["fresh_outputs" if before == "--model" else word for before, word in pairwise(["", *words])]
        words = [f"appended_{word}" if "--append" in words and word.endswith(".jsonl") else word for word in words]
    if words[:2] == ["grade", "FOLDER"]:
        words[1] = "bare"
    if words == ["init"]:
        words = ["init", "fresh_workspace"]
    if words[:1] == ["rm"]:
        return "rm", "three", "--yes"
    if words[:1] == ["attempt"]:
        return "attempt", "four/rows"
    if words[:1] == ["sign"]:  # takes an extra; tests/test_signatures_are_those_of_minisign.py has keys
        return "sign", "--help"
    words = words[: words.index("--sign")] if "--sign" in words else words
    if words[:1] == ["ask"] and len(words) > 1:
        words[1] = "Fresh/Model"
    told = [STANDS_FOR.get(word, word) for word in words if word != "kernels.cu"]
    told = ["all" if before == "--suite" else word for before, word in pairwise(["", *told])]
    told = [FEWER.get(before, word) for before, word in pairwise(["", *told])]
    if words[:1] == ["compare"] and told[1] == told[2]:
        told[2] = "two"
    return tuple("made.out" if word == "FILE" or word.endswith((".xml", ".sarif")) else word for word in told)


COMMANDS = sorted({stood_for(line) for line in shown()})


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with one challenge and graded submissions."""
    root = tmp_path_factory.mktemp("shown")
    (root / "challenges").mkdir()
    scaffold.challenge(Workspace(root), "rows")
    for model in ("one", "two", "three", "four"):
        folder = root / "submissions" / model / "rows"
        folder.mkdir(parents=True)
        (folder / "submission.toml").write_text(ABOUT.format(model=model))
        (folder / "answer.py").write_text((root / "references" / "rows" / "reference.py").read_text())
    answer = (root / "references" / "rows" / "reference.py").read_text()
    (root / "bare").mkdir()
    (root / "bare" / "answer.py").write_text(answer)
    reply = f"```python answer.py\n{answer}```\n" * 2  # `--take 2` names its last block
    (root / "reply.md").write_text(reply)
    for name in ("samples", "appended_samples"):
        sample = {"model": f"fresh_{name}", "challenge": "rows", "reply": reply}
        (root / f"{name}.jsonl").write_text(f"{json.dumps(sample)}\n" * 2)
    (root / "outputs.jsonl").write_text(json.dumps({"choices": [{"text": reply}]}))
    choices = [{"message": {"role": "assistant", "content": reply}}]
    samples = [{"id": "rows", "epoch": 1, "output": {"choices": choices}}]
    (root / "log.json").write_text(json.dumps({"eval": {"model": "vendor/fresh"}, "samples": samples}))
    assert called(root, "grade", "--all").returncode == 0
    return root


@pytest.fixture(scope="module")
def model_server(root: Path) -> Iterator[str]:
    """URL of a server whose model answers the challenge."""
    reply = (root / "reply.md").read_text()
    with serving(lambda request: say(request, reply)) as server, patch.dict(os.environ, {"NO_PROXY": "127.0.0.1"}):
        yield server.url


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_runs(words: tuple[str, ...], root: Path, model_server: str) -> None:
    bare = words[0] == "serve" or (len(words) == 1 and words[0] in (
        "grade", "new", "cuda", "replay", "compare", "review", "ls", "ask", "export", "audit",
    ))  # fmt: skip
    words = tuple(model_server if word == NOBODY and words[0] == "ask" else word for word in words)
    ended = called(root, *words, *(["--help"] if bare or words in NAMED else []))
    expected = next((code for start, code in ENDS_WITH.items() if " ".join(words).startswith(f"{start} ")), 0)
    assert ended.returncode == expected, ended.stderr
    assert "Traceback" not in ended.stderr


def test_what_runs_is_what_the_pages_show() -> None:
    assert {words[0] for words in COMMANDS} >= {
        "grade", "report", "scoreboard", "show", "compare", "replay", "check", "new", "ls", "doctor", "cuda", "review",
        "ask",
    }  # fmt: skip


@pytest.mark.parametrize("section", ["## Add a model", "## Add a challenge"])
def test_the_steps_of_the_readme_work_as_they_stand(section: str, tmp_path: Path) -> None:
    text = PAGES[0].partition(f"{section}\n")[2]
    steps = re.findall(r"^\$ (.+)$", text.partition("```console\n")[2].partition("```")[0], re.MULTILINE)
    assert steps
    copied("layernorm_backward", tmp_path, without=("any_size", "backward_speed"))
    binaries = tmp_path / "bin"
    binaries.mkdir()
    (binaries / "harness").write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m harness "$@"\n')
    (binaries / "harness").chmod(0o755)
    env = environment(tmp_path) | {"PATH": f"{binaries}:{os.environ['PATH']}"}
    ended = subprocess.run(
        ["bash", "-e", "-c", "\n".join(steps)], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert list((tmp_path / "reports" / "records").glob("*/my-model.json"))
