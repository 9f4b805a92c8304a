"""`harness grade`: grade submissions into records."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import complete, output, replies
from harness.cli.results.show import show_record
from harness.cli.results.sign import secret_key, sign_results

if TYPE_CHECKING:
    from harness.executors.base import NotGraded
    from harness.grading.options import Options
    from harness.grading.submission_grade import Graded
    from harness.model import GradeProfile
    from harness.workspace import Workspace

AUTO = "auto"
"""Choice of the best device that each submission can run on."""

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODEL/CHALLENGE|MODEL|CHALLENGE|FOLDER|REPLY.md",
        help="Submissions to grade, by name or by path; with --challenge, raw replies and folders of bare files.",
        autocompletion=complete.submissions,
    ),
]
DeviceName = Annotated[
    str, typer.Option(metavar="auto|gpu|emulated", help="Device for CUDA answers: a GPU, or the emulated device.")
]
LimitValues = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="LIMIT=VALUE", help="Override a limit of the challenge, as in start_seconds=5."),
]
Published = Annotated[
    bool, typer.Option("--publish", help="Publish records of folders elsewhere, and in place of other folders' ones.")
]
Answered = Annotated[
    str | None,
    typer.Option(
        metavar="CHALLENGE",
        help="What replies and folders without submission.toml answer.",
        autocompletion=complete.challenges,
    ),
]
EntryFile = Annotated[
    str | None, typer.Option("--entry", metavar="FILE", help="The file with the contract's functions in such a folder.")
]
ProfileName = Annotated[
    str, typer.Option(metavar="full|correctness|reward", help="Run everything, what gates marks, or that in brief.")
]
Criteria = Annotated[
    list[str] | None, typer.Option("--criterion", metavar="CRITERION", help="Run this criterion only; may be repeated.")
]
Seconds = Annotated[
    float | None, typer.Option(min=0.1, help="Cut a grade off after this wall time; it then has no reward.")
]
Forced = Annotated[bool, typer.Option("--force", "-f", help="Grade again even if nothing changed.")]
Everything = Annotated[bool, typer.Option("--all", help="Grade every submission of the workspace.")]
Unsafe = Annotated[bool, typer.Option("--unsafe", help="Grade even without isolation: only answers you trust.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of the inputs; a record with a chosen seed is not ranked.")]
SigningKey = Annotated[
    Path | None, typer.Option("--sign", metavar="FILE", help="Sign the records published with this key of minisign.")
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="Grades at a time: 1 by default, on a cluster one for each processor."),
]
ExecutorName = Annotated[
    str, typer.Option(metavar="local|ray", help="What runs the grades: this machine's processes, or a Ray cluster.")
]
Address = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Of the Ray cluster; the one this machine is in by default.")
]
Threshold = Annotated[
    float | None, typer.Option(min=0, max=100, help="Exit with 1 if an overall mark is lower or missing.")
]


def grade(
    names: Names = None,
    everything: Everything = False,
    force: Forced = False,
    seed: Seed = None,
    jobs: Jobs = None,
    device: DeviceName = AUTO,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of records.")] = False,
    fail_under: Threshold = None,
    full: Annotated[bool, typer.Option("--full", help="Run the answers' own tests without a time limit.")] = False,
    unsafe: Unsafe = False,
    limits: LimitValues = None,
    challenge: Answered = None,
    entry: EntryFile = None,
    publish: Published = False,
    profile: ProfileName = "full",
    criterion: Criteria = None,
    seconds: Seconds = None,
    sign: SigningKey = None,
    executor: ExecutorName = "local",
    address: Address = None,
) -> None:
    """Grade submissions by running them.

    Submissions that have not changed since they were graded on this machine are skipped. Writes records to
    reports/records/, of folders elsewhere only with --publish; else prints that of a single one.

    \b
    harness grade --all -j 2
    harness grade reply.md --challenge kv_cache
    harness grade ./folder --challenge kv_cache --entry cache.py
    """
    from harness.grading.options import Options
    from harness.workspace import Workspace

    _check_call(names or (), everything, unsafe, publish, challenge)
    key, workspace = secret_key(sign) if sign else None, Workspace.find()
    options = Options(
        seed=seed, force=force, full=full, limits=_parse_limits(limits or ()), device=device, elsewhere=publish,
        profile=_parse_profile(profile), only=tuple(criterion or ()), seconds=seconds,
    )  # fmt: skip
    with replies.lay_out_names(workspace, names or (), challenge, entry) as (named, given, refused):
        folders = workspace.submissions() if everything else named
        _tell_beforehand(workspace, folders, options, refused)
        results, interrupted = run(executor, workspace, folders, options, jobs, address)
    results += refused
    sign_results(workspace, key, results)
    print_results(workspace, results, as_json, None if publish else replies.format_place(names or (), entry))
    _tell_omissions(workspace, results, options, given)
    raise typer.Exit(130 if interrupted else choose_exit_code(results, fail_under))


def _check_call(names: Sequence[str], everything: bool, unsafe: bool, publish: bool, challenge: str | None) -> None:
    """Check the options together, and permit grading without isolation.

    The permission is an environment variable, so that grading processes inherit it.
    """
    if bool(names) == everything:
        raise typer.BadParameter(
            "name what to grade: names or a folder, or --all for everything\n  try: harness ls submissions"
        )
    if publish:
        from harness.cli.grading.publishing import refuse_replies

        refuse_replies(names, challenge)
    if unsafe:
        from harness.sandbox.session.tiers import PERMITTED

        os.environ[PERMITTED] = "1"


def _parse_profile(name: str) -> "GradeProfile":
    from harness.errors import nearest
    from harness.model import GradeProfile

    try:
        return GradeProfile(name)
    except ValueError:
        known = ", ".join(GradeProfile)
        hint = nearest(name, map(str, GradeProfile))
        raise typer.BadParameter(f"--profile: no profile {name!r}{hint}\n  profiles are {known}") from None


def _parse_limits(given: Sequence[str]) -> dict[str, float]:
    from pydantic import ValidationError

    from harness.errors import nearest
    from harness.model import Limits

    found = {}
    for item in given:
        name, _, value = item.partition("=")
        if name not in Limits.model_fields:
            known = ", ".join(Limits.model_fields)
            raise typer.BadParameter(
                f"--set: no limit {name!r}{nearest(name, Limits.model_fields)}\n  limits are {known}"
            )
        try:
            found[name] = float(value)
        except ValueError:
            raise typer.BadParameter(f"--set: {name} needs a number, not {value!r}") from None
    try:
        Limits.model_validate({name: int(n) if n.is_integer() else n for name, n in found.items()})
    except ValidationError as error:
        first = error.errors()[0]
        raise typer.BadParameter(f"--set: {first['loc'][0]}: {first['msg']}") from None
    return found


def _check_device(workspace: "Workspace", device: str) -> None:
    if device == AUTO:
        return
    from harness.errors import nearest
    from harness.languages import every_language, language

    owners = [used for used in every_language() if device in used.devices]
    if not owners:
        known = (AUTO, *(name for used in every_language() for name in used.devices))
        listed = ", ".join(known)
        raise typer.BadParameter(f"--device: no device {device!r}{nearest(device, known)}\n  devices are {listed}")
    here = [language(workspace.challenge(id).language) for id in workspace.challenges()]
    if not any(used in here for used in owners):
        titles = " or ".join(used.title for used in owners)
        raise typer.BadParameter(f"--device {device}: no challenge here is answered in {titles}; leave it out")


def run(
    kind: str, workspace: "Workspace", folders: Sequence[Path], options: "Options", jobs: int | None,
    address: str | None,
) -> tuple[list["Graded | NotGraded"], bool]:  # fmt: skip
    """Grade folders with progress on stderr; return the results, and whether some are missing."""
    from harness.cli.grading.interrupts import GentleStop
    from harness.executors.base import NotGraded, grade_all
    from harness.executors.registry import new_executor

    _check_device(workspace, options.device)
    executor = new_executor(kind, workspace, options, jobs, address)
    results: list[Graded | NotGraded] = []
    steps = output.ProgressLine(len(folders), executor.places)
    stop = GentleStop(executor.drain, lambda: steps.running)
    with contextlib.suppress(KeyboardInterrupt), steps, stop:
        for result in grade_all(executor, folders, lambda folder, stage: steps.now(_format_name(folder), stage)):
            results.append(result)
            name = _format_name(result.folder)
            if isinstance(result, NotGraded):
                steps.done(name, f"not graded: {name}")
            else:
                steps.done(name, _summarise(result, steps.seconds(name)))
    if interrupted := len(results) < len(folders):
        rest = "run the same command again" + (" without --force" if options.force else "") + " to continue"
        output.note(f"interrupted: {len(results)} of {len(folders)} are done and kept; {rest}")
    return results, interrupted


def _format_name(folder: Path) -> str:
    from harness.model.submissions.name import SubmissionName

    return str(SubmissionName.of_folder(folder.resolve()))


def _summarise(result: "Graded", seconds: float) -> str:
    if result.record.error:
        return f"not graded: {result.record.name}"
    if result.reused:
        return f"reused: {result.record.name}, {result.reason}"
    return f"graded: {result.record.name} in {seconds:.1f} s, {result.reason}"


def print_results(
    workspace: "Workspace", results: Sequence["Graded | NotGraded"], as_json: bool, place: str | None
) -> None:
    """Print a table of grades, or their records, and what to know about them.

    Args:
        place: arguments that name a single submission outside the workspace, whose record is printed; or None.
    """
    from harness.executors.base import NotGraded
    from harness.report import formatting

    graded = sorted(
        (r for r in results if not isinstance(r, NotGraded)),
        key=lambda r: (r.record.challenge, r.record.submission_name.order),
    )
    if as_json:
        output.data([result.record.to_json_values() for result in graded])
    elif graded:
        rows = [_build_row(result) for result in graded]
        output.table(
            list(rows[0]), [list(row.values()) for row in rows], right=("correctness", "reward"),
            wraps=("overall, interval, coverage", "gravest finding"),
        )  # fmt: skip
        if len(graded) == 1 and place is not None and not workspace.holds(graded[0].folder):  # not in `harness show`
            show_record(workspace, graded[0].record, place)
    if reused := sum(result.reused for result in graded):
        output.note(f"{reused} reused: nothing changed since they were graded on this machine; --force grades anew")
    if untrusted := [r.record.name for r in graded if not r.record.environment.tier.trusted]:
        risk = "answers could reach files, network and other processes; their records are not ranked"
        output.note(f"no isolation: {risk}: {formatting.some(untrusted)}\n  try: harness doctor")
    for warning in dict.fromkeys(warning for r in graded for warning in r.record.environment.warnings):
        output.note(f"{warning}\n  try: harness doctor")
    for error in _list_errors(results):
        output.note(f"error: {error}")


def _tell_omissions(
    workspace: "Workspace", results: Sequence["Graded | NotGraded"], options: "Options", given: Mapping[Path, str]
) -> None:
    from harness.cli.grading.publishing import tell_published

    tell_published(workspace, results, options, given)
    _tell_unwritten(workspace, results)
    _tell_unranked(workspace, results)


def _tell_unranked(workspace: "Workspace", results: Sequence["Graded | NotGraded"]) -> None:
    from harness.executors.base import NotGraded
    from harness.store.own_suite import explain_missing_rank, own_challenges

    graded = {r.record.challenge for r in results if not isinstance(r, NotGraded)}
    reasons = (explain_missing_rank(workspace, id) for id in own_challenges(workspace) if id in graded)
    for reason in filter(None, reasons):
        output.note(f"not ranked: {reason}")


def _tell_beforehand(
    workspace: "Workspace", folders: Sequence[Path], options: "Options", refused: Sequence["NotGraded"]
) -> None:
    from harness.cli.grading.publishing import find_others_records

    if not folders and not refused:
        output.note("no submissions yet\n  try: harness new submission MODEL/CHALLENGE")
    for name, home in find_others_records(workspace, folders) if options.elsewhere else ():
        output.note(f"note: --publish replaces the record of {home}: {name}")


def _tell_unwritten(workspace: "Workspace", results: Sequence["Graded | NotGraded"]) -> None:
    """Print, for a submission that scores 0, which ungraded file seems to hold its code."""
    from harness.executors.base import NotGraded
    from harness.quality.unwritten import unwritten_entry

    for result in results:
        if isinstance(result, NotGraded) or not workspace.holds(result.folder):
            continue
        correctness = result.record.dimensions.get("correctness")
        if correctness is None or correctness.score != 0:
            continue
        functions = workspace.challenge(result.record.challenge).contract.functions
        for remark in unwritten_entry(result.folder, workspace.submission(result.folder).entries, functions):
            output.note(f"{result.record.name}: {remark}\n  name it in submission.toml: entry")


def _list_errors(results: Sequence["Graded | NotGraded"]) -> Iterator[str]:
    """Yield failures of the harness or its inputs, which do not count against a submission."""
    from harness.executors.base import NotGraded

    for result in results:
        if isinstance(result, NotGraded):
            yield str(result.error)
            continue
        if result.record.error:
            yield f"{result.record.name}: judge error, not the answer's fault: {result.record.error}"
        if result.save_error:
            yield f"{result.record.name}: {result.save_error}"


def _build_row(result: "Graded") -> dict[str, str]:
    from harness.report import formatting

    record = result.record
    gravest = record.findings[0].title if record.findings else "-"
    correctness = record.dimensions.get("correctness")
    earned = {"reward": "-" if record.reward is None else f"{record.reward:.2f}"} if record.partial else {}
    return {
        "challenge": record.challenge,
        "model": record.model if record.attempt is None else f"{record.model}, attempt {record.attempt}",
        "overall, interval, coverage": formatting.standing(record.overall),
        "correctness": formatting.mark(correctness.score) if correctness else "-",
        **earned,
        "gravest finding": "judge error" if record.error else gravest,
    }


def choose_exit_code(results: Sequence["Graded | NotGraded"], fail_under: float | None) -> int:
    """Return the exit code of these results."""
    from harness.errors import JudgeError, PrerequisiteError, StoreError
    from harness.executors.base import NotGraded
    from harness.model import Status

    rejected = [r for r in results if isinstance(r, NotGraded)]
    graded = [r for r in results if not isinstance(r, NotGraded)]
    own_failures = (JudgeError, PrerequisiteError, StoreError)
    if any(r.record.status is Status.JUDGE_ERROR or r.save_error for r in graded):
        return 3
    if any(isinstance(r.error, own_failures) for r in rejected):
        return 3
    if rejected:
        return 2
    if fail_under is None:
        return 0
    low = [r for r in graded if r.record.overall.score is None or r.record.overall.score < fail_under]
    for one in low:
        output.note(f"under {fail_under:g}: {one.record.name}")
    return 1 if low else 0
