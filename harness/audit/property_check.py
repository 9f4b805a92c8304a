"""Property mutants around published submissions: a property that they pass must be able to fail."""

from collections.abc import Callable, Iterator, Mapping

from harness.languages import AnswerFiles
from harness.model import Collection, Outcome, Record
from harness.mutation.checks.check import CheckResult, check_around
from harness.probing.challenge_code.code import ChallengeCode
from harness.workspace import Workspace


def check_published(
    workspace: Workspace,
    collection: Collection,
    records: Mapping[str, Record],
    seed: int,
    progress: Callable[[str], None],
) -> Iterator[CheckResult]:
    """Run each property mutant around every published submission that passes its criterion and that no gate caps.

    Args:
        workspace: workspace of the fetched submissions; missing ones are skipped.
        records: records by `MODEL/CHALLENGE`.
        progress: callback with the name of each run.
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
                # an adapter that serves all calls is beyond doubt: what its file raises now comes from the fault
                adapters = (answer.adapter,) if passed[mutant.criterion].unserved else ()
                yield check_around(code, seed, mutant, answer.name, files, adapters=adapters)
