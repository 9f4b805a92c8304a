"""`harness review`: a model's judgement of what cannot be executed."""

import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import complete, output

if TYPE_CHECKING:
    from harness.model import Preference, Review
    from harness.review.case import Case, Reviewed


def review(
    submission: Annotated[
        str,
        typer.Argument(metavar="MODEL/CHALLENGE", help="Submission to review.", autocompletion=complete.submissions),
    ],
    judge: Annotated[
        str, typer.Option("--judge", metavar="URL", help="OpenAI-compatible API, as in http://localhost:8000/v1.")
    ],
    model: Annotated[str, typer.Option("--model", help="Model to ask, by its name in that API.")],
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="MODEL2", help="Ask which of two answers is better, instead of marks."),
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, max=25, help="How often to ask; a pair is asked in both orders.")
    ] = 3,
    name: Annotated[
        str | None, typer.Option("--name", help="File name of the review; the judge's name by default.")
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, max=3600, help="Time limit for one reply, in seconds.")
    ] = 120.0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing review of that name.")] = False,
) -> None:
    """Ask a model to mark what cannot be executed.

    Asks only about criteria that have a question for reviewers; what can run is measured, never judged. The judge does
    not learn who answered. The API key is read from HARNESS_JUDGE_KEY or OPENAI_API_KEY. Writes the review beside the
    submission, where `harness report` finds it.

    \b
    harness review glm-5/kv_cache --judge http://localhost:8000/v1 --model Qwen/Qwen3-32B
    """
    from harness.review import judge as judging
    from harness.review.case import Case, store
    from harness.review.endpoint import Endpoint
    from harness.workspace import Workspace

    case = Case.open(Workspace.find(), submission, against)
    reviewer = judging.reviewer(model, case.questions, datetime.date.today())
    path = case.path(name or _choose_name(reviewer.id, case.other), force)
    ask = Endpoint(judge, model, timeout=timeout).ask
    _tell_cuts(case)
    with output.ProgressLine(repeats * len(case.shown)) as steps:
        steps.now(f"asking {model}")
        done = case.hear(ask, reviewer, repeats, steps.done)
    store(path, done.review)
    _print(done.review)
    _tell_doubts(done, repeats * len(case.shown))
    output.line(f"wrote {output.place(path)}")


def _choose_name(judge: str, other: str | None) -> str:
    return f"{judge}-against-{other}"[:64] if other else judge


def _tell_cuts(case: "Case") -> None:
    for model, material in case.shown:
        for file in material.files:
            if file.cut:
                output.note(f"note: {model}: {file.path} is {file.cut}")


def _tell_doubts(done: "Reviewed", asked: int) -> None:
    if done.review.remark:
        output.note(f"note: {done.review.remark}\n  it may have influenced these marks, but no measured ones")
    if done.lost:
        review = done.review
        used = review.preferences[0].asked if review.preferences else len(review.marks[0].repeats)
        output.note(f"note: {used} of {asked} replies could be used")


def _print(review: "Review") -> None:
    if review.preferences:
        other = review.preferences[0].other
        output.table(
            ("question", "wins", "losses", "ties", "better"),
            [(p.target, p.wins, p.losses, p.ties, _name_better(review.model, p)) for p in review.preferences],
            right=("wins", "losses", "ties"),
        )
        output.line(f"\nwins and losses of {review.model} against {other}, asked in both orders")
        return
    output.table(
        ("question", "mark", "repeats", "remark"),
        [(m.target, f"{m.mark:g}", " ".join(f"{r:g}" for r in m.repeats), m.remark) for m in review.marks],
        right=("mark",),
        wraps=("remark",),
    )


def _name_better(model: str, preference: "Preference") -> str:
    if preference.undecided:
        return "undecided: depends on the order"
    if preference.share == 0.5:
        return "equal"
    return model if preference.share > 0.5 else preference.other
