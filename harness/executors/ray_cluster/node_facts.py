"""Report of a node: a program that attacks its own sandbox and prints one line of JSON.

python -P -m harness.executors.ray_cluster.node_facts DEVICE LANGUAGE...
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness import interpreter

SECONDS = 180.0
"""Timeout of the report in seconds, trials of compilers included."""


@dataclass(frozen=True)
class NodeFacts:
    """Report of a node.

    Attributes:
        refusal: reason not to grade, or empty.
        isolation: its `TierChoice` as JSON.
        environments: as in records, by language.
        missing: missing tools, a sentence each, by language.
        unable: reasons, by language, why it cannot run submissions.
    """

    version: str
    source: str
    refusal: str
    isolation: str = ""
    environments: Mapping[str, Any] | None = None
    missing: Mapping[str, Sequence[str]] | None = None
    unable: Mapping[str, str] | None = None


def node_facts(device: str, languages: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of `NodeFacts` for this machine, from a separate process."""
    command = (interpreter.EXECUTABLE, "-P", "-m", "harness.executors.ray_cluster.node_facts", device, *languages)
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, cwd="/")
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        return {"version": "", "source": "", "refusal": f"it could not say what it is: {last}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _gather(device: str, languages: Sequence[str]) -> dict[str, Any]:
    import harness
    from harness.errors import HarnessError
    from harness.sandbox.self_test import assert_holds
    from harness.sandbox.session.tiers import choose
    from harness.store.content_key import source_of_harness

    mine: dict[str, Any] = {"version": harness.__version__, "source": source_of_harness(), "refusal": ""}
    try:
        isolation = choose()
        assert_holds(isolation.tier)
    except HarnessError as error:
        return mine | {"refusal": str(error)}
    found: dict[str, dict[str, Any]] = {"environments": {}, "missing": {}, "unable": {}}
    for name in languages:
        for field, value in _find_equipment(name, device).items():
            found[field][name] = value
    return mine | found | {"isolation": isolation.model_dump_json()}


def _find_equipment(name: str, device: str) -> dict[str, Any]:
    from harness.errors import HarnessError
    from harness.languages import language
    from harness.sandbox.session.tiers import choose
    from harness.store.content_key import environment

    try:
        used = language(name)
        where = environment(choose(), used.device(device), used.toolchain())
        missing = used.missing_tools()
    except HarnessError as error:
        return {"unable": str(error)}
    found: dict[str, Any] = {
        "environments": where.model_dump(mode="json"),
        "missing": [tool.consequence for tool in missing],
    }
    needed = [tool.consequence for tool in missing if tool.needed]
    return found | ({"unable": needed[0]} if needed else {})


def _main(device: str, *languages: str) -> None:
    from harness.grading.linear_algebra import compute_in_one_thread
    from harness.grading.process_hardening import make_undumpable

    make_undumpable()
    compute_in_one_thread()
    print(json.dumps(_gather(device, languages)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
