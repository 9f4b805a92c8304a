"""One criterion of a record run again, with the seed it keeps."""

from dataclasses import dataclass
from pathlib import Path

from harness.errors import HarnessError, SpecError
from harness.model import Evidence, Record
from harness.probing.common_causes import settled_names
from harness.probing.criteria import probe_criterion
from harness.probing.opening import opened
from harness.running.collected import charged_to_the_answer
from harness.running.job import prepared
from harness.running.options import Options
from harness.workspace import Workspace


@dataclass(frozen=True)
class Replayed:
    """One criterion run again with the seed its record keeps.

    Attributes:
        recorded: what the record says.
        evidence: what came out now.
    """

    recorded: Evidence
    evidence: Evidence

    @property
    def same(self) -> bool:
        """Whether the outcome is the recorded one; an anchor's loss of credit is not replayed."""
        return self.recorded.outcome is self.evidence.outcome or self.recorded.rests_on is not None


def replay(workspace: Workspace, record: Record, criterion: str, folder: Path | None = None) -> Replayed:
    """Run one criterion's probes again on the submission with the recorded seed.

    Args:
        workspace: where the challenge and, unless `folder` is given, the submission are.
        record: the record to replay from.
        criterion: id of a criterion fed by probes.
        folder: the submission, when it is not in the workspace.

    Raises:
        SpecError: the criterion has no probes, or was not run.
        HarnessError: the submission cannot be read or does not build any more.
    """
    challenge = workspace.challenge(record.challenge)
    known = [c.id for c in challenge.criteria if c.probes]
    if criterion not in known:
        raise SpecError(
            record.name, f"{criterion!r} is not fed by probes; these are: {', '.join(known)}", field="criterion"
        )
    recorded = next((e for e in record.evidence if e.criterion == criterion), None)
    if recorded is None or recorded.seed is None:
        why = f"was not run: {recorded.detail}" if recorded else "is not in this record; grade anew with --force"
        raise SpecError(record.name, f"{criterion!r} {why}", field="criterion")
    place = folder or workspace.folder_of(record)
    options = Options(device="emulated" if record.environment.device == "emulated" else "auto")
    with prepared(workspace, place, options) as job, opened(challenge, job.answer, job.device) as opening:
        if opening.answer is None or opening.fault:
            raise HarnessError(f"{place}: does not build: {opening.fault or opening.unsupported}")
        wanted = challenge.criterion(criterion)
        evidence = probe_criterion(
            job.code, wanted, opening.answer, recorded.seed, submission=job.submission, adapters=job.adapters
        )
        others = (e for e in record.evidence if e.criterion != criterion)
        *_, evidence = settled_names(job.code, [*others, evidence], opening.answer)
        (evidence,) = charged_to_the_answer([evidence], job.origin)
    return Replayed(recorded, evidence)
