"""A job: everything about a grade that is fixed before the submission's code is loaded."""

import hashlib
import math
import os
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from harness.errors import SpecError, nearest
from harness.grading.collected_submission import origin_of
from harness.grading.options import Options, Progress, no_progress
from harness.languages import AnswerFiles, Device, Language, language, source_hash
from harness.model import Challenge, Criterion, Environment, GradeProfile, Limits, Origin, Submission
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.evidence.criteria import seed_of
from harness.quality.own_tests import ALL_SECONDS
from harness.sandbox import Snapshot, hash_folder, snapshot
from harness.sandbox.accounting.wall_bound import SHORTEST, wall_bound
from harness.sandbox.session.tiers import choose
from harness.store.conflict import other_home
from harness.store.content_key import content_key, environment, probe_set
from harness.store.failing_seeds import FailingSeeds
from harness.store.record_store import Store
from harness.timing import clock
from harness.workspace import Workspace


@dataclass(frozen=True)
class Job:
    """One submission about to be graded."""

    workspace: Workspace
    challenge: Challenge
    submission: Submission
    files: Snapshot
    options: Options
    progress: Progress
    device: Device
    origin: Origin | None = None
    outside: bool = False
    where: Environment | None = None
    begun: float = field(default_factory=clock.now)

    @property
    def language(self) -> Language:
        """Language of the submission."""
        return language(self.challenge.language)

    @cached_property
    def criteria(self) -> tuple[Criterion, ...]:
        """Criteria to assess.

        Unclaimed options belong to the profile `full` alone, as they never affect a reward.
        """
        options = self.options
        chosen = options.profile.criteria(self.challenge, options.only)
        every = options.profile is GradeProfile.FULL or options.only
        asked = (c for c in self.challenge.criteria if c.id in chosen)
        return tuple(c for c in asked if every or not c.capability or self.submission.offers(c.capability))

    @property
    def brief(self) -> bool:
        """True if few cases are drawn and failures stay unexplained."""
        return self.options.profile is GradeProfile.REWARD

    @cached_property
    def wall_seconds(self) -> float:
        """Seconds until the cut-off: the requested time, at most the sum of its limits."""
        limits = self.challenge.limits
        tests = ALL_SECONDS if self.options.full else limits.tests_seconds
        used = (
            limits.start_seconds,
            limits.probes_seconds,
            limits.build_seconds * self.language.builds,
            tests if any(c.tests for c in self.criteria) else 0.0,
        )
        return min(wall_bound(sum(used)), math.inf if self.options.seconds is None else self.options.seconds)

    @property
    def deadline(self) -> float:
        """Cut-off on the clock of `clock.now`."""
        return self.begun + self.wall_seconds

    def late(self) -> bool:
        """Return whether time is over."""
        return clock.now() > self.deadline - SHORTEST

    @property
    def cores(self) -> int:
        """Processors that the grade may use."""
        return min(len(os.sched_getaffinity(0)), self.options.cores or sys.maxsize)

    @cached_property
    def seed(self) -> int:
        """Seed of the run: chosen by hand, or random."""
        return int.from_bytes(os.urandom(6), "big") if self.options.seed is None else self.options.seed

    @cached_property
    def files_seed(self) -> int:
        """Seed of the files alone: equal files get equal draws."""
        return int.from_bytes(hashlib.sha256(repr(sorted(self.files.hashes.items())).encode()).digest()[:6], "big")

    @cached_property
    def environment(self) -> Environment:
        """Environment of the submission: `where`, or this machine."""
        return self.where or environment(choose(), self.device, self.language.toolchain())

    @cached_property
    def timed(self) -> frozenset[str]:
        """Ids of the criteria that a clock decides."""
        return frozenset(c.id for c in self.criteria if any(p.clocked for p in self.code.probes_of(c)))

    @cached_property
    def left_out(self) -> frozenset[str]:
        """Ids of the timed criteria that this grade omits."""
        return self.timed if self.options.untimed else frozenset()

    @cached_property
    def key(self) -> str:
        """Content key of the grade."""
        return self.key_in(self.environment, self.left_out)

    @cached_property
    def content(self) -> str:
        """Hash of everything except the seed and the machine."""
        return self.key_in(None)

    def key_in(self, where: Environment | None, left_out: Collection[str] = ()) -> str:
        """Return the content key of the grade on another machine.

        Args:
            where: environment; None for a key without it.
            left_out: ids of the criteria omitted there.
        """
        settings = {
            "full": self.options.full,
            "limits": self.challenge.limits.model_dump(),
            "language": source_hash(self.language),
            "origin": self.origin and self.origin.model_dump(),
            "attempt": self.submission.about.attempt,
            "profile": self.options.profile,
            "only": sorted(self.options.only),
            "left_out": sorted(left_out),
        }
        return content_key(self.workspace, self.challenge.id, self.files.hashes, settings, where)

    @property
    def probe_set(self) -> str:
        """Version of the challenge's criteria and references."""
        return probe_set(self.workspace, self.challenge.id)

    @cached_property
    def code(self) -> ChallengeCode:
        """Code of the challenge."""
        return ChallengeCode(self.workspace, self.challenge)

    @cached_property
    def failing_seeds(self) -> FailingSeeds:
        """Seeds that once failed these files."""
        return Store(self.workspace).failing_seeds(self.challenge.id, self.files.hashes)

    def failing_seed(self, criterion: Criterion) -> int | None:
        """Return the seed that once failed these files, if this grade may choose it."""
        drawn = self.options.seed is None and not self.brief
        return self.failing_seeds.of(criterion.id) if drawn else None

    def seed_of(self, criterion: Criterion) -> int:
        """Return the seed of a criterion's inputs."""
        return seed_of(self.files_seed if criterion.seeded_by == "files" else self.seed, criterion.id)

    @property
    def adapters(self) -> tuple[str, ...]:
        """Files of the harness in the submission's folder."""
        return (self.origin.adapter,) if self.origin else ()

    @property
    def answer(self) -> AnswerFiles:
        """Files to open in the sandbox."""
        return AnswerFiles(self.files.path, self.submission.entries, self.submission.capabilities)


@contextmanager
def prepare_job(
    workspace: Workspace, folder: Path, options: Options, progress: Progress = no_progress, *, copied: bool = True
) -> Iterator[Job]:
    """Yield the job of one submission, with a copy of its files until the block ends.

    Args:
        copied: false to leave the files in place, for a job that is never run.

    Raises:
        HarnessError: the submission or challenge is malformed, a collected file differs from the published one, or the
            machine lacks something.
    """
    submission = workspace.submission(folder)
    outside = not workspace.holds(folder)
    if not options.elsewhere and (outside or other_home(workspace, folder, submission)):
        options = replace(options, publish=False)
    challenge = _apply_limits(workspace.challenge(submission.about.challenge), options)
    _refuse_unknown_criteria(challenge, options.only)
    if submission.about.language != challenge.language:
        raise SpecError(
            folder / "submission.toml",
            f"is {submission.about.language!r}; {challenge.id} is answered in {challenge.language!r}",
            field="submission.language",
        )
    used = language(challenge.language)
    if submission.entries and (problem := used.entry_problem(submission.about.entry)):
        raise SpecError(folder / "submission.toml", problem, field="submission.entry")
    device = used.device(options.device)
    with snapshot(folder) if copied else nullcontext(Snapshot(folder, hash_folder(folder))) as files:
        for name in submission.entries:
            if name not in files.hashes:
                problem = f"names {name!r}, which is not in what is graded of {folder}"
                raise SpecError(folder / "submission.toml", problem, field="submission.entry")
        origin = origin_of(workspace, folder, files)
        yield Job(workspace, challenge, submission, files, options, progress, device, origin, outside)


def _refuse_unknown_criteria(challenge: Challenge, only: Iterable[str]) -> None:
    runnable = [c.id for c in challenge.criteria if not c.review]
    for id in only:
        if id not in runnable:
            problem = f"{challenge.id} has no criterion {id!r} that is run{nearest(id, runnable)}"
            raise SpecError("criteria", problem, hint=f"try: harness prompt {challenge.id}")


def _apply_limits(challenge: Challenge, options: Options) -> Challenge:
    if not options.limits:
        return challenge
    try:
        limits = Limits.model_validate({**challenge.limits.model_dump(), **options.limits})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        known = ", ".join(Limits.model_fields)
        raise SpecError("limits", f"{first['msg']}; limits are {known}", field=name) from None
    return challenge.model_copy(update={"limits": limits})
