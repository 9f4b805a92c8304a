"""What lies before a judge: one answer, or two to the same challenge, and the questions."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from harness.errors import NotFoundError, SpecError
from harness.model import Challenge, Identifier, Mark, Preference, Review, Reviewer
from harness.model.submission_name import SubmissionName
from harness.review import judge
from harness.review.files import FOLDER, as_toml
from harness.review.judge_prompt import Questions
from harness.review.material import Mask, Material, gather, names_to_hide
from harness.review.prompt_injection import injections
from harness.stored_files import write_atomically
from harness.workspace import Workspace


@dataclass(frozen=True)
class Reviewed:
    """A review and what a reader should know of how it was made.

    Attributes:
        review: as it is to be stored.
        lost: why repeats could not be used.
    """

    review: Review
    lost: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """One answer to be reviewed, or to be compared with another.

    Attributes:
        folder: of the answer.
        challenge: its rubric.
        questions: what is asked.
        material: what is shown of the answer.
        other: the model it is compared with, or None.
        theirs: what is shown of that model's answer, or None.
    """

    folder: Path
    challenge: Challenge
    questions: Questions
    material: Material
    other: str | None = None
    theirs: Material | None = None

    @classmethod
    def open(cls, workspace: Workspace, name: str, against: str | None = None) -> "Case":
        """Read what is to be judged.

        Args:
            workspace: where the answers are.
            name: MODEL/CHALLENGE, or MODEL/CHALLENGE/attempt-N.
            against: the model whose answer to the same challenge it is compared with.

        Raises:
            NotFoundError: a name fits no submission of the workspace, or the challenge asks nothing of reviewers.
            SpecError: a file is malformed.
        """
        folder = _folder(workspace, name)
        challenge = workspace.challenge(SubmissionName.of_folder(folder).challenge)
        questions = Questions.of(challenge, _task(workspace, challenge))
        if not questions.criteria:
            raise NotFoundError(f"{challenge.id} has no criterion with a question for reviewers: all of it is measured")
        mask = Mask.of(names_to_hide(workspace))
        material = _material(workspace, folder, mask)
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
            _material(workspace, theirs, mask),
        )

    @property
    def name(self) -> SubmissionName:
        """What is reviewed."""
        return SubmissionName.of_folder(self.folder)

    @property
    def shown(self) -> tuple[tuple[str, Material], ...]:
        """All that is shown to the judge, each with the model that gave it."""
        own = (self.name.model, self.material)
        return (own, (self.other, self.theirs)) if self.other and self.theirs else (own,)

    def path(self, name: str, force: bool) -> Path:
        """Where a review of that name is stored.

        Raises:
            SpecError: the name is not valid, or one exists already and is not to be replaced.
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
        """Ask the judge, and make a review of the replies.

        Args:
            ask: sends one prompt.
            reviewer: the judge.
            repeats: how often; of a pair, in either order.
            notify: is called after each repeat with a line on it.

        Raises:
            JudgeError: no reply could be used.
        """
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
            remark=self._remark(),
        )
        return Reviewed(review, lost)

    def _remark(self) -> str:
        places = [f"{model}: {place}" for model, material in self.shown for place in injections(material)]
        return f"Words that may speak to a judge: {'; '.join(places)}" if places else ""


def store(path: Path, review: Review) -> None:
    """Write a review in one step.

    Raises:
        StoreError: it cannot be written.
    """
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


def _material(workspace: Workspace, folder: Path, mask: Mask) -> Material:
    workspace.submission(folder)  # refuses a malformed one before anything is asked
    material = gather(folder, mask)
    if not any(file.text.strip() for file in material.files):
        raise SpecError(folder, "holds no text to be judged")
    return material
