"""A judge's case: one submission, or two to one challenge, and the questions."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from harness.errors import NotFoundError, SpecError
from harness.model import Challenge, Identifier, Mark, Preference, Review, Reviewer
from harness.model.submissions.name import SubmissionName
from harness.review import judge
from harness.review.files import FOLDER, as_toml
from harness.review.judge_prompt import Questions
from harness.review.material import Mask, Material, gather, names_to_hide
from harness.review.prompt_injection import injections
from harness.workspace import Workspace
from harness.workspace.stored_files import write_atomically


@dataclass(frozen=True)
class Reviewed:
    """A review, and the reasons for lost repeats."""

    review: Review
    lost: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """One submission to review, or to compare with that of another model: the visible parts, and the questions."""

    folder: Path
    challenge: Challenge
    questions: Questions
    material: Material
    other: str | None = None
    theirs: Material | None = None

    @classmethod
    def open(cls, workspace: Workspace, name: str, against: str | None = None) -> "Case":
        """Read a case.

        Args:
            name: MODEL/CHALLENGE, or MODEL/CHALLENGE/attempt-N.
            against: model whose submission to the same challenge is compared.

        Raises:
            NotFoundError: unknown submission, or a challenge without questions for reviewers.
            SpecError: a malformed file.
        """
        folder = _folder(workspace, name)
        challenge = workspace.challenge(SubmissionName.of_folder(folder).challenge)
        questions = Questions.of(challenge, _task(workspace, challenge))
        if not questions.criteria:
            raise NotFoundError(f"{challenge.id} has no criterion with a question for reviewers: all of it is measured")
        mask = Mask.of(names_to_hide(workspace))
        material = _read_material(workspace, folder, mask)
        if against is None:
            return cls(folder, challenge, questions, material)
        theirs = _folder(workspace, f"{against}/{challenge.id}")
        if theirs == folder:
            raise NotFoundError(f"{against!r} gave this answer itself\n  --against names another model")
        return cls(
            folder,
            challenge,
            questions,
            material,
            SubmissionName.of_folder(theirs).model,
            _read_material(workspace, theirs, mask),
        )

    @property
    def name(self) -> SubmissionName:
        """The reviewed submission."""
        return SubmissionName.of_folder(self.folder)

    @property
    def shown(self) -> tuple[tuple[str, Material], ...]:
        """Models with their material, for the judge."""
        own = (self.name.model, self.material)
        return (own, (self.other, self.theirs)) if self.other and self.theirs else (own,)

    def path(self, name: str, force: bool) -> Path:
        """Return the path of a review of that name.

        Raises:
            SpecError: the name is invalid, or taken without `force`.
        """
        try:
            TypeAdapter(Identifier).validate_python(name)
        except ValidationError:
            raise SpecError(name, "cannot name a review: lower case, digits, '.', '_' and '-', at most 64") from None
        path = self.folder / FOLDER / f"{name}.toml"
        if path.parent.is_symlink():
            raise SpecError(path.parent, "is a link; a review is written into a folder of the submission only")
        if path.exists() and not force:
            raise SpecError(path, "exists already; nothing was asked", hint="--force replaces it, --name adds one")
        return path

    def hear(
        self, ask: judge.Ask, reviewer: Reviewer, repeats: int, notify: Callable[[str], None] = lambda _: None
    ) -> Reviewed:
        """Ask the judge `repeats` times, for a pair in each order, and turn the replies into a review."""
        marks: tuple[Mark, ...] = ()
        preferences: tuple[Preference, ...] = ()
        if self.other and self.theirs:
            pair = (self.material, self.theirs)
            preferences, lost = judge.compare(ask, self.questions, pair, self.other, repeats, notify)
        else:
            marks, lost = judge.mark(ask, self.questions, self.material, repeats, notify)
        review = Review(
            model=self.name.model,
            challenge=self.challenge.id,
            attempt=self.name.attempt,
            reviewer=reviewer,
            marks=marks,
            preferences=preferences,
            remark=self._write_remark(),
        )
        return Reviewed(review, lost)

    def _write_remark(self) -> str:
        places = [f"{model}: {place}" for model, material in self.shown for place in injections(material)]
        return f"Words that may speak to a judge: {'; '.join(places)}" if places else ""


def store(path: Path, review: Review) -> None:
    """Write a review atomically."""
    write_atomically(path, as_toml(review))


def _folder(workspace: Workspace, name: str) -> Path:
    if SubmissionName.parse(name) is None:
        raise NotFoundError(f"{name!r} is no MODEL/CHALLENGE\n  try: harness ls submissions")
    folder, *others = workspace.select([name])
    if others:
        names = ", ".join(str(SubmissionName.of_folder(each)) for each in (folder, *others))
        raise NotFoundError(f"{name!r} has several attempts; name one: {names}")
    if folder not in workspace.submissions():
        raise NotFoundError(f"{name!r} is no submission of this workspace\n  try: harness ls submissions")
    return folder


def _task(workspace: Workspace, challenge: Challenge) -> str:
    path = workspace.challenge_folder(challenge.id) / "PROMPT.md"
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(path, f"cannot be read: {error}") from None


def _read_material(workspace: Workspace, folder: Path, mask: Mask) -> Material:
    workspace.submission(folder)  # refuse a malformed submission before asking the judge
    material = gather(folder, mask)
    if not any(file.text.strip() for file in material.files):
        raise SpecError(folder, "holds no text to be judged")
    return material
