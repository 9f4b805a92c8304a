"""Writers of tasks for other frameworks, by option of `harness export`."""

from collections.abc import Callable, Mapping
from pathlib import Path

from harness.integrations.harbor_task import write_harbor_task
from harness.workspace import Workspace

TaskWriter = Callable[[Workspace, str, Path], None]
"""Takes the workspace, the challenge's id and the new folder."""

TASK_WRITERS: Mapping[str, TaskWriter] = {"harbor": write_harbor_task}
