"""A tiny challenge and a workspace that holds it: all that a grade needs and no more."""

from pathlib import Path

from harness.workspace import Workspace

CHALLENGE_ID = "scaled_sum"
RUBRIC = """
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
"""
TOML = f"""{RUBRIC}
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
SUBMISSION = """
[submission]
model = "{model}"
challenge = "scaled_sum"
entry = "answer.py"
provenance = "model-output"
"""


def make_workspace(
    root: Path, *, toml: str = TOML, probes: str = PROBES, mutants: str = MUTANTS, variants: str = VARIANTS,
    reference: str = REFERENCE, reference_name: str = "reference.py",
) -> Workspace:  # fmt: skip
    """A workspace whose only challenge is the toy, or one made of other texts."""
    challenge, references = root / "challenges" / CHALLENGE_ID, root / "references" / CHALLENGE_ID
    files = {
        challenge / "challenge.toml": toml, challenge / "probes.py": probes, challenge / "mutants.py": mutants,
        challenge / "variants.py": variants, references / reference_name: reference,
    }  # fmt: skip
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Workspace(root)


def add_submission(
    workspace: Workspace, model: str, source: str, toml: str = SUBMISSION, name: str = "answer.py"
) -> Path:
    """Put an answer into a workspace; its folder."""
    folder = workspace.root / "submissions" / model / CHALLENGE_ID
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "submission.toml").write_text(toml.format(model=model))
    (folder / name).write_text(source)
    return folder
