"""`harness import`: submissions from elsewhere."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from harness.cli import complete, output
from harness.cli.workspace.new import Shadow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.importing.sample_attempts import ImportedSample
    from harness.model.submissions.name import SubmissionName
    from harness.workspace import Workspace

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Bring in answers that were made or published elsewhere."
)


Claim = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OPTION",
        help="An optional feature that the reply offers, as fork or paged.page_size=16; may be repeated.",
    ),
]
Take = Annotated[
    list[str] | None,
    typer.Option(
        metavar="N[=NAME]",
        help="A block of the reply that is a file of the answer, where the reply leaves a choice; may be repeated.",
    ),
]


@app.command()
def collection(
    id: Annotated[str, typer.Argument(metavar="ID", help="The collection.", autocompletion=complete.collections)],
    clone: Annotated[
        Path | None, typer.Option("--from", metavar="CLONE", help="A local git clone to read instead of fetching one.")
    ] = None,
) -> None:
    """Fetch a collection's published answers and lay them out to be graded.

    Reads the one commit that the collection names, checks the SHA-256 of every file, and puts each answer next to
    its adapter in .harness/collections/, which git ignores. All answers are laid out, or none.

    \b
    harness import collection llm_programming_tests
    """
    from harness.importing.collection import open_collection
    from harness.importing.importer import lay_out
    from harness.workspace import Workspace

    workspace = Workspace.find()
    with open_collection(workspace, id, clone) as importer:
        folders = lay_out(importer, workspace.fetched_folder(id))
    for folder in folders:
        output.line(f"{folder.parent.name}/{folder.name}")
    _tell_hidden(workspace, folders)
    output.note(f"{len(folders)} answers in {output.place(workspace.fetched_folder(id))}\n  try: harness grade --all")


@app.command()
def reply(
    file: Annotated[str, typer.Argument(metavar="FILE.md|-", help="The reply in Markdown; - reads standard input.")],
    model: Annotated[str, typer.Option(metavar="MODEL", help="Who answered.")],
    challenge: Annotated[
        str, typer.Option(metavar="CHALLENGE", help="What was answered.", autocompletion=complete.challenges)
    ],
    attempt: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Which of several answers of the model it is.")
    ] = None,
    claim: Claim = None,
    take: Take = None,
    shadow: Shadow = False,
) -> None:
    """Make a submission of a model's raw reply: Markdown with code in it.

    Takes the last complete version of every file, finds the entry by reading the code, which is never run, and keeps
    the reply beside the files. A refusal, an empty reply and one without code that answers the challenge are kept, too:
    they count as an attempt that meets nothing. Where the files may be meant in several ways, nothing is written: the
    error lists the blocks, and --take says which of them are the answer, with their names where they have none.

    \b
    harness import reply answer.md --model my-model --challenge kv_cache
    harness import reply second.md --model my-model --challenge kv_cache --attempt 2
    harness import reply answer.md --model my-model --challenge kv_cache --claim fork --claim quantized:int8
    harness import reply answer.md --model my-model --challenge kv_cache --take 2=kv_cache.py --take 3
    """
    from harness.cli import replies, scaffold
    from harness.importing.claimed import parse_claims
    from harness.importing.reply import lay_out_reply
    from harness.importing.unanswered import importer_of
    from harness.model.submissions.name import SubmissionName
    from harness.replies.text import read_bytes
    from harness.workspace import Workspace

    workspace = Workspace.find()
    task = workspace.challenge(challenge)
    scaffold.check_model(model)
    name, claimed = SubmissionName(model, task.id, attempt), parse_claims(claim or (), task)
    importer = importer_of(*read_bytes(file), name, task, claimed, replies.read_choices(take or ()))
    folder = workspace.submissions_folder.joinpath(*name.parts)
    if not (take and replies.settle_attempt(workspace, importer, folder)):
        scaffold.refuse_shadowing(workspace, [name], "harness import reply", shadow)
        lay_out_reply(importer, folder)
    again = f"harness rm {name}, then harness import reply {file} --model {model} --challenge {task.id}"
    replies.tell(importer, task, output.line, again)
    output.note(f"made {output.place(folder)}\n  try: harness grade {name}")


@app.command()
def samples(
    file: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="One JSON object a reply, or an inspect_ai log.")],
    field: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=PATH", help="Where model, challenge, attempt or reply is, as in reply=output.text."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Who answered, where the file does not say.")
    ] = None,
    challenge: Annotated[
        str | None,
        typer.Option(
            metavar="CHALLENGE",
            help="What was answered, where the file does not say.",
            autocompletion=complete.challenges,
        ),
    ] = None,
    append: Annotated[
        bool, typer.Option("--append", help="Number attempts after those that are there, instead of from 1.")
    ] = False,
) -> None:
    """Make attempts of many replies: JSON lines with model, challenge, attempt and reply, or an inspect_ai log.

    Each reply is read as `harness import reply` reads one; one without an answer is an attempt that meets nothing.
    One that could not be read with certainty is an attempt that is not graded. What cannot be used is reported with its
    line, and the others go on; the exit code is 2 in both cases. No attempt that is there is replaced: importing a
    mended file adds what is missing.

    \b
    harness import samples replies.jsonl
    harness import samples replies.jsonl --field reply=completion --model my-model --challenge kv_cache
    """
    from harness.importing.sample_attempts import ImportedSample, RefusedSample, SampleImport
    from harness.importing.samples import SampleFields, parse_fields, read_samples
    from harness.workspace import Workspace

    workspace = Workspace.find()
    given = (("model", model), ("challenge", challenge))
    fields = SampleFields(parse_fields(field or []), {name: value for name, value in given if value is not None})
    made, refused = list[ImportedSample](), list[RefusedSample]()
    for result in SampleImport(workspace, file, append).run(read_samples(file, fields)):
        if isinstance(result, RefusedSample):
            refused.append(result)
            output.note(f"error: {result.why}")
            continue
        made.append(result)
        output.line(f"{result.place}: {result.name}")
    _finish(workspace, made, len(refused))


def _finish(workspace: "Workspace", made: Sequence["ImportedSample"], refused: int) -> NoReturn:
    _note_unanswered(made)
    unread = sum(bool(each.unread) for each in made)
    todo = f"\n  try: harness grade {' '.join(_tell_hiding(workspace, (each.name for each in made)))}" if made else ""
    doubtful = f", {unread} of them could not be read" if unread else ""
    output.note(f"{len(made)} imported{doubtful}, {refused} refused{todo}")
    raise typer.Exit(2 if refused or unread else 0)


def _note_unanswered(made: "Iterable[ImportedSample]") -> None:
    from harness.model.submissions.file_names import REPLY_FILE

    for each in made:
        if each.unanswered:
            output.note(f"{each.place}: no answer, so this attempt meets nothing: the reply {each.unanswered}")
        if each.unread:
            reply, name = output.place(each.folder / REPLY_FILE), each.name
            output.note(
                f"{each.place}: could not be read, so this attempt is not graded: the reply {each.unread}\n"
                f"  try: harness import reply {reply} --model {name.model} --challenge {name.challenge}"
                f" --attempt {name.attempt} --take 1; without --take it lists the blocks"
            )


def _tell_hiding(workspace: "Workspace", names: "Iterable[SubmissionName]") -> list[str]:
    from harness.cli import scaffold

    answers = {name.answer: scaffold.hidden_collection(workspace, name) for name in names}
    for answer, collection in answers.items():
        if collection:
            output.note(f"note: {answer} hides the answer of the collection {collection}")
    return list(answers)


def _tell_hidden(workspace: "Workspace", folders: list[Path]) -> None:
    """Print which fetched submissions cannot be graded by name, since another submission has it."""
    graded = set(workspace.submissions())
    hidden = [folder for folder in folders if folder not in graded]
    if hidden:
        names = ", ".join(f"{folder.parent.name}/{folder.name}" for folder in hidden)
        output.note(f"hidden by submissions of the same names: {names}\n  try: harness grade {output.place(hidden[0])}")
