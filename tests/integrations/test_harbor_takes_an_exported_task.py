"""Harbor itself loads an exported task, finds nothing to say against it, and runs its verifier in an image of its own.

Harbor needs Python 3.12 and half a gigabyte, so it is asked in an environment beside this one.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from harness.integrations.harbor_task import write_harbor_task
from harness.workspace import Workspace

PYTHON = "HARNESS_HARBOR"
ASKED = """
import json, sys
from harbor.models.task.task import Task
from harbor.models.task.verifier_mode import resolve_verifier_environment_definition
task = Task(sys.argv[1])
verifier = resolve_verifier_environment_definition(task.config, task.paths)
print(json.dumps({
    "name": task.name, "instruction": task.instruction,
    "verifier": str(verifier.directory), "own tests": verifier.bundled_tests, "artifacts": task.config.artifacts,
    "network": verifier.config.network_mode.value,
}))
"""


@pytest.fixture(scope="module")
def harbor() -> str:
    """A Python that has Harbor."""
    python = os.environ.get(PYTHON)
    if not python:
        pytest.skip(f"no Harbor: python3.12 -m venv V && V/bin/pip install harbor, then {PYTHON}=V/bin/python")
    return python


@pytest.mark.parametrize("challenge", ["layernorm_backward", "fused_softmax_topk"])
def test_harbor_loads_it_and_has_nothing_to_say(harbor: str, challenge: str, tmp_path: Path) -> None:
    folder = tmp_path / challenge
    write_harbor_task(Workspace(Path(__file__).parents[2]), challenge, folder)
    asked = subprocess.run([harbor, "-c", ASKED, str(folder)], capture_output=True, text=True, check=False)
    assert asked.returncode == 0, asked.stderr
    told = json.loads(asked.stdout)
    assert told["name"] == f"kernel-harness/{challenge.replace('_', '-')}"
    assert "/app/answer" in told["instruction"]
    assert (told["verifier"], told["own tests"], told["network"]) == (str(folder / "tests"), True, "no-network")
    assert told["artifacts"] == ["/app/answer"]
    linted = [str(Path(harbor).with_name("harbor")), "lint", "--json", str(folder)]
    assert json.loads(subprocess.run(linted, capture_output=True, check=False).stdout) == []
