import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from harness.model import Challenge
from harness.probing.code import ChallengeCode
from harness.sandbox import detect
from harness.timing import exclusive
from harness.workspace import Workspace
from tests import shares

settings.register_profile("drawn", database=None, deadline=None)
settings.load_profile("drawn")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Draw the same examples of a property each time a commit is tested, and others for another commit."""
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(shares.number())
    # a test of a call that hangs must not keep the other test processes waiting
    locks = tempfile.TemporaryDirectory(prefix="harness-locks-")
    config.add_cleanup(locks.cleanup)
    os.environ[exclusive.FOLDER] = locks.name


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests that share a module's fixture in one process; all others are handed out one by one."""
    for item in items:
        shared: dict[str, Sequence[Any]] = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
        if any(fixture.scope == "module" for found in shared.values() for fixture in found):
            item.add_marker(pytest.mark.xdist_group(str(item.path)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in which tier answers were held, the corpus of attacks among them, and what was drawn."""
    tier = detect()
    terminalreporter.write_line(f"answers held in tier {tier}: {tier.promise}")
    terminalreporter.write_line(shares.told())


TOML = """
id = "scaled_sum"
title = "Scaled sum"
summary = "Sum the rows of x and scale them."
anchor = "values"
[contract]
functions = ["scaled"]
[[dimensions]]
id = "correctness"
title = "Correctness"
weight = 1
[[criteria]]
id = "values"
dimension = "correctness"
severity = "critical"
title = "Every row's scaled sum equals the oracle"
probes = ["rows_match_the_oracle"]
[[criteria]]
id = "linear"
dimension = "correctness"
severity = "major"
title = "Doubling the input doubles the output"
probes = ["doubling_doubles"]
"""
REFERENCE = """
import numpy as np

def scaled(x, scale):
    total = x.sum(axis=-1)
    return total * scale
"""
PROBES = """
import numpy as np
from harness.probing import Array, expect, probe

def ask(answer, x, scale):
    return answer.call("scaled", x, scale, returns=Array(x.shape[:1], "float64"))

@probe({"B": 6, "D": 40})
def rows_match_the_oracle(answer, draw, *, B, D):
    ratios = []
    for x in (draw.normal(B, D), draw.normal(B, D)):
        right = x.astype(np.longdouble).sum(axis=-1) * 3
        ratios.append(expect.close("out", ask(answer, x, 3.0), right, 1e-12))
    return {"error_ratio": max(ratios)}

@probe({"B": 4, "D": 5})
def doubling_doubles(answer, draw, *, B, D):
    x = draw.normal(B, D)
    expect.same("out", ask(answer, 2 * x, 1.0), 2 * ask(answer, x, 1.0), "is not linear", within=1e-12)
"""
MUTANTS = """
from harness.probing import Mutant
MUTANTS = (
    Mutant("last column dropped", "leaves the last column out", criterion="values",
           edits=(("x.sum(axis=-1)", "x[:, :-1].sum(axis=-1)"),)),
    Mutant("fourth row dropped", "leaves rows from the fourth on at zero", criterion="values",
           edits=(("return total * scale", "total[3:] = 0\\n    return total * scale"),)),
    Mutant("no scale", "forgets the scale", criterion="values", edits=(("total * scale", "total"),)),
)
"""
VARIANTS = """
from harness.probing import Variant
VARIANTS = (Variant("matrix product", "sums by a product with ones",
                    edits=(("x.sum(axis=-1)", "x @ np.ones(x.shape[-1])"),)),)
"""


@pytest.fixture
def toy(tmp_path: Path) -> ChallengeCode:
    """A tiny challenge in a workspace of its own."""
    challenge, references = tmp_path / "challenges" / "scaled_sum", tmp_path / "references" / "scaled_sum"
    challenge.mkdir(parents=True)
    references.mkdir(parents=True)
    files = {"challenge.toml": TOML, "probes.py": PROBES, "mutants.py": MUTANTS, "variants.py": VARIANTS}
    for name, text in files.items():
        (challenge / name).write_text(text)
    (references / "reference.py").write_text(REFERENCE)
    workspace = Workspace(tmp_path)
    read = workspace.challenge("scaled_sum")
    assert isinstance(read, Challenge)
    return ChallengeCode(workspace, read)


SUBMISSION = """
[submission]
model = "{model}"
challenge = "scaled_sum"
entry = "answer.py"
provenance = "model-output"
"""


@pytest.fixture
def submit(toy: ChallengeCode) -> Callable[..., Path]:
    """Puts an answer into the toy workspace; further files by keyword, dots as double underscores."""

    def put(model: str, source: str, toml: str = SUBMISSION, **files: str) -> Path:
        folder = toy.workspace.root / "submissions" / model / "scaled_sum"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "submission.toml").write_text(toml.format(model=model))
        (folder / "answer.py").write_text(source)
        for name, text in files.items():
            (folder / name.replace("__", ".")).write_text(text)
        return folder

    return put
