"""`harness ls`: what the workspace holds."""

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import output

if TYPE_CHECKING:
    from harness.workspace import Workspace

Row = dict[str, str | int]


class Listable(StrEnum):
    """What `harness ls` can list."""

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
        Listable.CHALLENGES: _challenges,
        Listable.MODELS: _models,
        Listable.SUBMISSIONS: _submissions,
        Listable.COLLECTIONS: _collections,
        Listable.SUITES: _suites,
        Listable.PROFILES: _profiles,
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
        todo = (
            ""
            if what in (Listable.COLLECTIONS, Listable.SUITES, Listable.PROFILES)
            else f"\n  try: harness new {what.removesuffix('s')} -h"
        )
        output.note(f"no {what} in {workspace.root}{todo}")


def _challenges(workspace: "Workspace") -> Iterator[Row]:
    from harness.errors import HarnessError

    for name in workspace.challenges():
        try:
            challenge = workspace.challenge(name)
        except HarnessError as error:
            yield {"challenge": name, "title": f"malformed: {error}", "language": "", "criteria": 0}
        else:
            count = len(challenge.criteria)
            yield {"challenge": name, "title": challenge.title, "language": challenge.language, "criteria": count}


def _models(workspace: "Workspace") -> Iterator[Row]:
    from harness.model.submission_name import SubmissionName

    answered = [SubmissionName.of_folder(folder).model for folder in workspace.submissions()]
    for model in workspace.models():
        yield {"model": model, "submissions": answered.count(model)}


def _submissions(workspace: "Workspace") -> Iterator[Row]:
    from harness.errors import HarnessError
    from harness.model.submission_name import SubmissionName

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


def _collections(workspace: "Workspace") -> Iterator[Row]:
    from harness.errors import HarnessError

    for id in workspace.collections():
        try:
            collection = workspace.collection(id)
        except HarnessError as error:
            yield {"collection": id, "title": f"malformed: {error}", "answers": 0, "fetched": "", "licence": ""}
        else:
            fetched = "yes" if workspace.fetched_folder(id).is_dir() else "no"
            yield {
                "collection": id, "title": collection.title, "answers": len(collection.answers), "fetched": fetched,
                "licence": collection.licence,
            }  # fmt: skip


def _suites(workspace: "Workspace") -> Iterator[Row]:
    from harness.running.own_suite import every_suite

    for suite in every_suite(workspace):
        yield {"suite": suite.id, "title": suite.title, "challenges": ", ".join(suite.challenges)}


def _profiles(workspace: "Workspace") -> Iterator[Row]:
    from harness.errors import HarnessError
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
