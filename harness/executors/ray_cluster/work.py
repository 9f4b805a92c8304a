"""Submissions on their way through a cluster."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.errors import JudgeError, SpecError
from harness.executors.ray_cluster.file_bundle import FileBundle, GradeTask
from harness.grading.job import Job, prepare_job
from harness.grading.options import Options
from harness.model import Challenge
from harness.model.submissions.collection import SUBMISSION_FILE
from harness.sandbox import read_folder
from harness.workspace import COLLECTIONS, Workspace

ELSEWHERE = "elsewhere"
"""Folder in a node's workspace for submissions from outside the driver's."""
CONTROL = "control"


@dataclass(eq=False)
class Work:
    """One submission to grade.

    Attributes:
        job: the grade, without a machine.
        followers: jobs of the same content that wait for this record.
        tried: ids of the nodes on which our side failed.
        deaths: ends of its grading processes, in words.
        losses: nodes or Ray workers lost under it.
        alone: true if it needs a node to itself.
        sent: last dispatch, by the driver's clock.
        pinned: id of the only node to use, or empty.
        control_of: submission suspected of killing its graders, if this is the reference in its place.
    """

    job: Job
    task: GradeTask
    followers: list[Job] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)
    deaths: list[str] = field(default_factory=list)
    losses: int = 0
    alone: bool = False
    sent: datetime | None = None
    pinned: str = ""
    control_of: "Work | None" = None

    @property
    def language(self) -> str:
        """Language of the submission."""
        return self.job.challenge.language


@dataclass(frozen=True)
class HeldWorkspace(Workspace):
    """A workspace that reads each challenge once: challenges must not change during a batch."""

    @cached_property
    def _folders(self) -> dict[str, Path]:
        return super().challenge_folders()

    @cached_property
    def _challenges(self) -> dict[str, Challenge]:
        return {}

    def challenge_folders(self) -> dict[str, Path]:
        """Return the folders."""
        return self._folders

    def challenge(self, id: str) -> Challenge:
        """Return a challenge."""
        if id not in self._challenges:
            self._challenges[id] = super().challenge(id)
        return self._challenges[id]


class TaskReader:
    """Reader of folders; `put` stores a bundle in Ray's object store and returns its reference."""

    def __init__(self, workspace: Workspace, options: Options, put: Callable[[FileBundle], Any]) -> None:
        self._workspace, self._options, self._put = HeldWorkspace(workspace.root), options, put
        self._surroundings: dict[tuple[str, str], tuple[list[Any], str]] = {}

    def read(self, folder: Path) -> Work:
        """Read one submission.

        Raises:
            HarnessError: the submission or challenge is malformed, or files changed meanwhile.
        """
        # the device is a node's and may be missing here
        with prepare_job(self._workspace, folder, replace(self._options, device="auto"), copied=False) as job:
            answer = FileBundle(read_folder(folder))
            if answer.hashes != job.files.hashes:
                raise JudgeError(f"{folder}: changed while it was read")
            task = self._make_task(job, answer)
            return Work(replace(job, options=replace(job.options, device=self._options.device)), task)

    def control(self, work: Work) -> Work | None:
        """Return work that grades the challenge's reference instead, if it has one."""
        job = work.job
        try:
            source = job.code.source()
        except (SpecError, OSError):
            return None
        entry, place = job.language.entry, f"{ELSEWHERE}/{CONTROL}"
        stated = {
            "model": CONTROL,
            "challenge": job.challenge.id,
            "language": job.challenge.language,
            "entry": entry,
            "provenance": "baseline",
        }
        toml = "[submission]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in stated.items())
        answer = FileBundle({f"{place}/{entry}": source.encode(), f"{place}/{SUBMISSION_FILE}": toml.encode()})
        task = replace(work.task, id=f"{CONTROL} {work.task.id}", place=place, answer=answer, hashes={}, seeds={})
        return Work(job, task, alone=True, control_of=work)

    def _make_task(self, job: Job, answer: FileBundle) -> GradeTask:
        collection = job.origin.collection if job.origin else ""
        refs, surroundings_id = self._store_surroundings(job.challenge.id, collection)
        drawn = self._options.seed is None and not job.brief
        return GradeTask(
            id=job.content,
            place=(place := self._find_place(job)),
            answer=answer.below(place),
            surroundings=refs,
            surroundings_id=surroundings_id,
            untimed=True,
            challenge=job.challenge.id,
            hashes=answer.hashes,
            seeds=job.failing_seeds.read_all() if drawn else {},
        )

    def _find_place(self, job: Job) -> str:
        if job.outside:
            return f"{ELSEWHERE}/answer"
        # the path it has here, so that the node reads it alike
        name = job.submission.about
        attempt = [] if name.attempt is None else [f"attempt-{name.attempt}"]
        root = f".harness/{COLLECTIONS}/{job.origin.collection}" if job.origin else "submissions"
        return "/".join([root, name.model, name.challenge, *attempt])

    def _store_surroundings(self, challenge: str, collection: str) -> tuple[list[Any], str]:
        if (challenge, collection) not in self._surroundings:
            place = self._workspace
            folders = place.folders_of_challenge(challenge)
            if collection:
                folders[f"submissions/{COLLECTIONS}/{collection}"] = place.collection_folder(collection)
            bundle = FileBundle.of({to: folder for to, folder in folders.items() if folder.is_dir()})
            self._surroundings[challenge, collection] = ([self._put(bundle)], bundle.id)
        return self._surroundings[challenge, collection]
