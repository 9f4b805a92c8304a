"""Review files, checked against the submission beside them."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import tomli_w

from harness.errors import SpecError, nearest
from harness.model import Challenge, Quote, Review, ReviewerKind
from harness.model.manifest import read_toml
from harness.model.submissions.name import SubmissionName
from harness.workspace import Workspace

FOLDER = "reviews"
MAX_QUOTED_BYTES = 8 << 20
"""Largest file that is searched for a quote."""


def read_reviews(challenge: Challenge, folder: Path) -> tuple[Review, ...]:
    """Return the reviews in `<folder>/reviews/`, by file name.

    Args:
        folder: folder of a submission, which names it.

    Raises:
        SpecError: a review is malformed, names another submission, marks an unknown criterion, or misquotes the files.
    """
    return tuple(_read_review(challenge, folder, path) for path in sorted((folder / FOLDER).glob("*.toml")))


def as_toml(review: Review) -> str:
    """Return the text of a `reviews/<name>.toml`, without empty values."""
    filled = _drop_empty(review.model_dump(mode="python"))
    return tomli_w.dumps({"marks": [], **filled} if not review.marks else filled)


def _drop_empty(table: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in table.items() if value not in (None, "", ())}
    return {key: _plain(value) for key, value in kept.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return _drop_empty(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def reviews_of(workspace: Workspace) -> tuple[Review, ...]:
    """Return every review of the workspace's submissions and its collections, by place and file name.

    Reviews of submissions that may not be redistributed are left out, since they may quote them.

    Raises:
        SpecError: as in `read_reviews`.
    """
    rubrics = {id: workspace.challenge(id) for id in workspace.challenges()}
    return tuple(
        review
        for folder in _list_reviewed(workspace)
        if (id := SubmissionName.of_folder(folder).challenge) in rubrics and (folder / FOLDER).is_dir()
        for review in read_reviews(rubrics[id], folder)
    )


def _list_reviewed(workspace: Workspace) -> Iterator[Path]:
    for folder in workspace.submissions():
        found = workspace.find_collection_entry(folder)
        if found is None or found[0].redistribute:
            yield folder
    for id in workspace.collections():
        yield from sorted(path for path in workspace.collection_folder(id).glob("*/*") if path.is_dir())


def _read_review(challenge: Challenge, folder: Path, path: Path) -> Review:
    review = read_toml(path, Review)
    name = SubmissionName.of_folder(folder.resolve())
    review = review.model_copy(update={"attempt": review.attempt or name.attempt})
    for field, value, place in (
        ("model", review.model, name.model),
        ("challenge", review.challenge, challenge.id),
        ("attempt", review.attempt, name.attempt),
    ):
        if value != place:
            raise SpecError(path, f"is {value!r}, but the folder is {place!r}", field=field)
    _check_marks(path, challenge, folder, review)
    _check_preferences(path, challenge, review)
    return review


def _check_marks(path: Path, challenge: Challenge, folder: Path, review: Review) -> None:
    targets = [mark.target for mark in review.marks]
    for number, mark in enumerate(review.marks):
        where = f"marks.{number}"
        if problem := _find_target_problem(challenge, review, mark.target):
            raise SpecError(path, problem, field=f"{where}.target")
        if targets.index(mark.target) != number:
            raise SpecError(path, f"{mark.target!r} is marked twice", field=f"{where}.target")
        for quote in mark.quotes:
            if problem := _find_quote_problem(folder, quote):
                raise SpecError(path, problem, field=f"{where}.quotes")


def _check_preferences(path: Path, challenge: Challenge, review: Review) -> None:
    for number, preference in enumerate(review.preferences):
        where = f"preferences.{number}"
        if problem := _find_target_problem(challenge, review, preference.target):
            raise SpecError(path, problem, field=f"{where}.target")
        if preference.other == review.model:
            raise SpecError(path, f"sets {review.model!r} against itself", field=f"{where}.other")


def _find_target_problem(challenge: Challenge, review: Review, target: str) -> str:
    dimensions = [d.id for d in challenge.dimensions]
    criteria = {c.id: c for c in challenge.criteria}
    if target not in dimensions and target not in criteria:
        closest = nearest(target, (*dimensions, *criteria))
        return f"{challenge.id} has no dimension or criterion {target!r}{closest}"
    if review.reviewer.kind is ReviewerKind.MODEL and not (target in criteria and criteria[target].review):
        return f"{target!r} is measured by running, in whole or in part: a model's reading does not mark it"
    return ""


def _find_quote_problem(folder: Path, quote: Quote) -> str:
    path = folder / quote.file
    if not path.is_file() or path.is_symlink():
        return f"quotes {quote.file}, which the submission does not have"
    if path.stat().st_size > MAX_QUOTED_BYTES:
        return f"quotes {quote.file}, which is over {MAX_QUOTED_BYTES >> 20} MiB"
    text = path.read_text(encoding="utf-8", errors="replace")
    if quote.text not in text:
        return f"{quote.file} does not say {quote.text!r}{_suggest_line(quote.text, text.splitlines())}"
    return ""


def _suggest_line(words: str, lines: Iterable[str]) -> str:
    found = nearest(words.strip(), dict.fromkeys(filter(None, map(str.strip, lines))))
    return found.replace("did you mean", "the nearest line is").rstrip("?")
