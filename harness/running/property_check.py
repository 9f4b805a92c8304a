"""Property mutants around published answers: what an answer passes there must be able to fail."""

from collections.abc import Callable, Iterator, Mapping

from harness.languages import AnswerFiles
from harness.model import Collection, Outcome, Record
from harness.probing.check import CheckResult, check_around
from harness.probing.code import ChallengeCode
from harness.workspace import Workspace


def check_published(
    workspace: Workspace, collection: Collection, records: Mapping[str, Record], seed: int,
    progress: Callable[[str], None],
) -> Iterator[CheckResult]:  # fmt: skip
    """Run each property mutant around every published answer that no gate holds down and that passes its criterion.

    Args:
        workspace: holds the challenges, and the answers that were fetched; others are left out.
        collection: of the answers.
        records: by `MODEL/CHALLENGE`.
        seed: of the inputs.
        progress: called with the name of what comes next.
    """
    for answer in collection.answers:
        folder, record = workspace.fetched_folder(collection.id) / answer.name, records.get(answer.name)
        if record is None or record.gates or not folder.is_dir():
            continue
        passed = {e.criterion: e for e in record.evidence if e.outcome is Outcome.PASSED}
        code, submission = ChallengeCode(workspace, workspace.challenge(answer.challenge)), workspace.submission(folder)
        files = AnswerFiles(folder, submission.entries, submission.capabilities)
        for mutant in code.property_mutants:
            if mutant.criterion in passed:
                progress(f"{mutant.name} around {answer.name}")
                # where the adapter serves all calls, what its file raises now is raised by the fault
                adapters = (answer.adapter,) if passed[mutant.criterion].unserved else ()
                yield check_around(code, seed, mutant, answer.name, files, adapters=adapters)
