"""`harness ls`: contents of the workspace."""

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import output
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.workspace import Workspace

Row = dict[str, str | int]


class Listable(StrEnum):
    """Things to list."""

    CHALLENGES = "challenges"
    MODELS = "models"
    SUBMISSIONS = "submissions"
    COLLECTIONS = "collections"
    SUITES = "suites"
    PROFILES = "profiles"


def ls(
    what: Annotated[Listable, typer.Argument(help="What to list.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List what the workspace holds.

    Suites are listed with their challenges, profiles with the criteria that each runs. Malformed
    entries are listed with their error.
    """
    from harness.workspace import Workspace

    listing = {
        Listable.CHALLENGES: _list_challenges,
        Listable.MODELS: _list_models,
        Listable.SUBMISSIONS: _list_submissions,
        Listable.COLLECTIONS: _list_collections,
        Listable.SUITES: _list_suites,
        Listable.PROFILES: _list_profiles,
    }[what]
    workspace = Workspace.find()
    rows = list(listing(workspace))
    if as_json:
        output.data(rows)
    elif rows:
        output.table(
            list(rows[0]),
            [list(row.values()) for row in rows],
            right=("criteria", "submissions", "answers"),
            wraps=("title", "record", "challenges", "which"),
        )
    else:
        made = what not in (Listable.COLLECTIONS, Listable.SUITES, Listable.PROFILES)
        todo = f"\n  try: harness new {what.removesuffix('s')} -h" if made else ""
        output.note(f"no {what} in {workspace.root}{todo}")


def _list_challenges(workspace: "Workspace") -> Iterator[Row]:
    for name in workspace.challenges():
        try:
            challenge = workspace.challenge(name)
        except HarnessError as error:
            yield {"challenge": name, "title": f"malformed: {error}", "language": "", "criteria": 0}
        else:
            count = len(challenge.criteria)
            yield {"challenge": name, "title": challenge.title, "language": challenge.language, "criteria": count}


def _list_models(workspace: "Workspace") -> Iterator[Row]:
    from harness.model.submissions.name import SubmissionName

    answered = [SubmissionName.of_folder(folder).model for folder in workspace.submissions()]
    for model in workspace.models():
        yield {"model": model, "submissions": answered.count(model)}


def _list_submissions(workspace: "Workspace") -> Iterator[Row]:
    from harness.model.submissions.name import SubmissionName

    for folder in workspace.submissions():
        name = str(SubmissionName.of_folder(folder))
        try:
            about = workspace.submission(folder).about
        except HarnessError as error:
            yield {"submission": name, "provenance": "", "language": "", "record": f"malformed: {error}"}
        else:
            kept = workspace.record_path(about.model, about.challenge, about.attempt).is_file()
            record = "yes" if kept else "no"
            yield {"submission": name, "provenance": about.provenance, "language": about.language, "record": record}


def _list_collections(workspace: "Workspace") -> Iterator[Row]:
    for id in workspace.collections():
        try:
            collection = workspace.collection(id)
        except HarnessError as error:
            yield {"collection": id, "title": f"malformed: {error}", "answers": 0, "fetched": "", "licence": ""}
        else:
            fetched = "yes" if workspace.fetched_folder(id).is_dir() else "no"
            yield {
                "collection": id,
                "title": collection.title,
                "answers": len(collection.answers),
                "fetched": fetched,
                "licence": collection.licence,
            }


def _list_suites(workspace: "Workspace") -> Iterator[Row]:
    from harness.store.own_suite import every_suite

    for suite in every_suite(workspace):
        yield {"suite": suite.id, "title": suite.title, "challenges": ", ".join(suite.challenges)}


def _list_profiles(workspace: "Workspace") -> Iterator[Row]:
    from harness.model import GradeProfile

    for name in workspace.challenges():
        try:
            challenge = workspace.challenge(name)
        except HarnessError as error:
            yield {"challenge": name, "profile": "", "criteria": 0, "which": f"malformed: {error}"}
            continue
        for profile in GradeProfile:
            held = profile.criteria(challenge)
            ids = [criterion.id for criterion in challenge.criteria if criterion.id in held]
            which = ", ".join(ids) if len(ids) < len(challenge.criteria) else "all of the rubric"
            yield {"challenge": name, "profile": profile.value, "criteria": len(ids), "which": which}
