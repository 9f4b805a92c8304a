"""Published reviews, comparisons and rankings by judges who only read the code.

They are displayed unchanged, outside measured scores.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from harness.errors import SpecError, nearest
from harness.model import (
    Comparison,
    Comparisons,
    LetterGrades,
    Provenance,
    PublishedLetters,
    Ranking,
    Review,
    ReviewerKind,
    Round,
    Rounds,
    Score,
    Status,
    Stored,
)
from harness.model.manifest import read_toml
from harness.workspace import Workspace

ROUNDS = "rounds.toml"
HEAD_TO_HEAD = "published/head_to_head.toml"
RANKING = "published/ranking.toml"
LETTERS = "published/letters.toml"

S = TypeVar("S", bound=Stored)


@dataclass(frozen=True)
class Published:
    """Published marks of one model on one challenge: means over the reviews, intervals from lowest to highest.

    Attributes:
        overall: the judges' own overall, not derived from the dimensions.
        dimensions: marks by dimension id.
        rounds: ids of the reviews, in order.
    """

    model: str
    challenge: str
    overall: Score
    dimensions: dict[str, Score]
    rounds: tuple[str, ...]
    provenance: Provenance = field(default=Provenance.MODEL_OUTPUT, init=False)
    status: Status = field(default=Status.GRADED, init=False)
    ranked: bool = field(default=True, init=False)
    turns: int = field(default=1, init=False)


def published(reviews: Iterable[Review], round: str | None = None) -> tuple[Published, ...]:
    """Return published marks by model and challenge, of one round or all."""
    groups: dict[tuple[str, str], list[Review]] = {}
    for review in reviews:
        if review.reviewer.kind is ReviewerKind.PUBLISHED and round in (None, review.reviewer.id):
            groups.setdefault((review.challenge, review.model), []).append(review)
    return tuple(_make_published(model, challenge, groups[challenge, model]) for challenge, model in sorted(groups))


def read_rounds(workspace: Workspace) -> tuple[Round, ...]:
    """Return the rounds in `reports/rounds.toml`, if it exists.

    Raises:
        SpecError: it is malformed, names an unknown challenge, or repeats an id.
    """
    path = workspace.root / "reports" / ROUNDS
    found = _read(workspace, ROUNDS, Rounds)
    rounds = found.rounds if found else ()
    ids = [one.id for one in rounds]
    for number, one in enumerate(rounds):
        if ids.index(one.id) != number:
            raise SpecError(path, f"{one.id!r} is the id of two rounds", field=f"rounds.{number}.id")
        _check_challenges(workspace, path, one.challenges, f"rounds.{number}.challenges")
    return rounds


def read_comparisons(workspace: Workspace) -> tuple[Comparison, ...]:
    """Return the published comparisons, if any.

    Raises:
        SpecError: the file is malformed, or a winner or edge is neither side.
    """
    path = workspace.root / "reports" / HEAD_TO_HEAD
    found = _read(workspace, HEAD_TO_HEAD, Comparisons)
    tables = found.tables if found else ()
    for number, table in enumerate(tables):
        _check_challenges(workspace, path, (table.challenge,), f"tables.{number}.challenge")
        edges = [(f"tables.{number}.rows.{n}.edge", row.edge) for n, row in enumerate(table.rows)]
        for place, name in ((f"tables.{number}.winner", table.winner), *edges):
            if name not in (None, table.left, table.right):
                raise SpecError(path, f"{name!r} is neither {table.left!r} nor {table.right!r}", field=place)
    return tables


def read_ranking(workspace: Workspace) -> Ranking | None:
    """Return the published final ranking, if any.

    Raises:
        SpecError: the file is malformed.
    """
    path = workspace.root / "reports" / RANKING
    found = _read(workspace, RANKING, Ranking)
    for number, place in enumerate(found.places if found else ()):
        _check_challenges(workspace, path, (*place.best, *place.worst), f"places.{number}")
    return found


def read_letters(workspace: Workspace) -> tuple[LetterGrades, ...]:
    """Return the published letters by model, if any.

    Raises:
        SpecError: the file is malformed, names an unknown challenge, or repeats a model.
    """
    path = workspace.root / "reports" / LETTERS
    found = _read(workspace, LETTERS, PublishedLetters)
    grades = found.grades if found else ()
    models = [one.model for one in grades]
    for number, one in enumerate(grades):
        if models.index(one.model) != number:
            raise SpecError(path, f"{one.model!r} has letters twice", field=f"grades.{number}.model")
        _check_challenges(workspace, path, tuple(one.letters), f"grades.{number}.letters")
    return grades


def _read(workspace: Workspace, name: str, kind: type[S]) -> S | None:
    path = workspace.root / "reports" / name
    return read_toml(path, kind) if path.exists() else None


def _check_challenges(workspace: Workspace, path: object, challenges: Sequence[str], place: str) -> None:
    known = workspace.challenges()
    for id in challenges:
        if id not in known:
            raise SpecError(str(path), f"there is no challenge {id!r}{nearest(id, known)}", field=place)


def _make_published(model: str, challenge: str, reviews: Sequence[Review]) -> Published:
    ordered = sorted(reviews, key=lambda r: (str(r.reviewer.date), r.reviewer.id))
    marks: dict[str, list[float]] = {}
    for review in ordered:
        for mark in review.marks:
            marks.setdefault(mark.target, []).append(mark.mark)
    overalls = [review.overall for review in ordered if review.overall is not None]
    dimensions = {target: _score(given) for target, given in marks.items()}
    return Published(model, challenge, _score(overalls), dimensions, tuple(r.reviewer.id for r in ordered))


def _score(marks: Sequence[float]) -> Score:
    if not marks:
        return Score(score=None, low=0.0, high=100.0, coverage=0.0)
    mean = sum(map(Fraction, marks), Fraction(0)) / len(marks)
    return Score(score=float(mean), low=min(marks), high=max(marks), coverage=1.0)
