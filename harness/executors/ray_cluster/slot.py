"""Actor on a node that grades."""

import atexit
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, LostGraderError
from harness.executors.local import GradingProcess
from harness.executors.ray_cluster.file_bundle import FileBundle, GradeTask
from harness.executors.ray_cluster.node_facts import node_facts
from harness.grading.options import Options, no_progress
from harness.model import TierChoice
from harness.sandbox.confinement import scratch
from harness.store.record_store import Store
from harness.workspace import Workspace


class GradingSlot:
    """Grader on a node.

    It writes the submission into a miniature workspace for an ordinary grading process. Results are plain data:
    `record`, or `error` with its classes in `kinds`, and the exit status `died` if the process ended.

    Args:
        options: grading options as JSON.
    """

    def __init__(self, options: str, variables: Mapping[str, str]) -> None:
        os.environ.update(variables)
        scratch.sweep()
        self._options = replace(Options.from_json(options), publish=False, stored=False, force=True, cores=1)
        self._workspace = Workspace(scratch.make())
        atexit.register(scratch.remove, self._workspace.root)
        self._held: set[str] = set()
        self._processes: dict[bool, GradingProcess] = {}
        self._isolation: TierChoice | None = None

    def here(self) -> None:
        """Do nothing: a reply shows that the slot has a processor."""

    def facts(self, languages: Sequence[str]) -> dict[str, Any]:
        """Attack the sandbox and return the arguments of `NodeFacts`."""
        return node_facts(self._options.device, languages)

    def begin(self, isolation: str) -> None:
        """Set the isolation for all grades, a `TierChoice` as JSON."""
        self._isolation = TierChoice.model_validate_json(isolation)

    def grade(self, task: GradeTask) -> dict[str, Any]:
        """Grade one submission."""
        process = self._process(task.untimed)
        try:
            self._surround(task)
            folder = self._lay_out(task)
            graded = process.grade(self._workspace, folder, self._options, no_progress)
            return {"record": graded.record.to_json()}
        except LostGraderError as error:
            return {"error": str(error), "kinds": ["JudgeError"], "died": error.status}
        except HarnessError as error:
            return {"error": str(error), "kinds": [kind.__name__ for kind in type(error).__mro__]}
        except OSError as error:
            return {"error": f"{type(error).__name__}: {error}", "kinds": ["JudgeError"]}
        finally:
            shutil.rmtree(self._workspace.root / task.place, ignore_errors=True)

    def close(self) -> None:
        """End the grading processes and remove the workspace."""
        for process in self._processes.values():
            process.close()
        scratch.remove(self._workspace.root)

    def _process(self, untimed: bool) -> GradingProcess:
        if untimed not in self._processes:
            options = replace(self._options, untimed=untimed)
            self._processes[untimed] = GradingProcess(self._workspace, options, self._isolation)
        return self._processes[untimed]

    def _surround(self, task: GradeTask) -> None:
        import ray

        if task.surroundings_id not in self._held:
            bundle: FileBundle = ray.get(task.surroundings[0])
            bundle.lay_out(self._workspace.root)
            self._held.add(task.surroundings_id)

    def _lay_out(self, task: GradeTask) -> Path:
        folder = self._workspace.root / task.place
        shutil.rmtree(folder, ignore_errors=True)
        task.answer.lay_out(self._workspace.root)
        seeds = Store(self._workspace).failing_seeds(task.challenge, task.hashes)
        for criterion, seed in task.seeds.items():
            seeds.keep(criterion, seed)
        return folder
