"""`harness ask`: attempts of a model at challenges, from a server."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import complete, output

if TYPE_CHECKING:
    from harness.asking.attempts import PlannedAttempt
    from harness.asking.run import AskRun, Lost, Plan, Result, Sampling
    from harness.model import Asked

_PACE = "asking"
"""Name of the whole run in the live line."""

Server = Annotated[
    str, typer.Option("--server", metavar="URL", help="OpenAI-compatible API, as in http://localhost:8000/v1.")
]
Attempts = Annotated[
    int, typer.Option("--attempts", "-n", min=1, max=1000, help="Attempts there are to be at each challenge.")
]
Challenges = Annotated[
    list[str] | None,
    typer.Option(
        "--challenge",
        "-c",
        metavar="CHALLENGE",
        help="What to ask, repeatable; every challenge by default.",
        autocompletion=complete.challenges,
    ),
]
Turns = Annotated[
    int, typer.Option(min=1, max=100, help="Replies allowed; the model is told what was found in each before.")
]
Folder = Annotated[
    str | None, typer.Option("--name", metavar="FOLDER", help="Folder under submissions/; made of MODEL by default.")
]
Timeout = Annotated[float, typer.Option("--timeout", min=0.1, max=86400, help="Time limit for one reply, in seconds.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Of sampling: attempt N is sent SEED + N - 1.")]
PriceIn = Annotated[float | None, typer.Option(min=0, help="Price of a million tokens of prompts, to state the cost.")]
PriceOut = Annotated[float | None, typer.Option(min=0, help="Price of a million tokens of replies, to state the cost.")]


def ask(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model to ask, by its name in the API.")],
    server: Server,
    attempts: Attempts = 1,
    challenge: Challenges = None,
    turns: Turns = 1,
    temperature: Annotated[float | None, typer.Option(min=0, max=10, help="Of sampling.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Longest reply, in tokens.")] = None,
    seed: Seed = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=256, help="Requests under way at a time.")] = 1,
    name: Folder = None,
    timeout: Timeout = 600.0,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be asked, and ask nothing.")] = False,
) -> None:
    """Ask a model for attempts at challenges.

    Sends what `harness prompt` prints, and makes a submission of each reply, as `harness import reply` does. What is
    there is not asked for again: a run that was interrupted goes on. The API key is read from HARNESS_API_KEY or
    OPENAI_API_KEY.

    \b
    harness ask Qwen/Qwen3-32B --server http://localhost:8000/v1 -n 5 -j 4
    """
    from harness.asking.attempts import lock_attempts
    from harness.asking.run import KEYS, AskRun, Sampling, plan
    from harness.chat import ChatServer
    from harness.cli import scaffold
    from harness.workspace import Workspace

    workspace = Workspace.find()
    how = Sampling(model, turns, temperature, max_tokens, seed)
    folder = name or _choose_folder(how)
    scaffold.check_model(folder)
    endpoint = ChatServer(server, option="--server", keys=KEYS, timeout=timeout)
    asked_of = challenge or workspace.challenges()
    if dry_run:
        _print_plan(plan(workspace, folder, asked_of, attempts, endpoint, how), how, endpoint.shown)
        return
    with lock_attempts(workspace, folder):
        missing = plan(workspace, folder, asked_of, attempts, endpoint, how)
        results, interrupted = _ask(AskRun(workspace, endpoint, jobs, (price_in, price_out)), missing)
    _print(missing, results)
    _tell_end(missing, results, folder, interrupted)
    raise typer.Exit(130 if interrupted else 3 if _select_lost(results) else 0)


def _choose_folder(how: "Sampling") -> str:
    """Return the default folder, named apart for several turns."""
    from harness.model import identifier

    suffix = f"-{how.turns}-turns" if how.turns > 1 else ""
    return identifier(how.model)[: 64 - len(suffix)] + suffix


def _print_plan(missing: "Plan", how: "Sampling", server: str) -> None:
    for id, there in missing.there.items():
        asked = [attempt for attempt in missing.attempts if attempt.challenge.id == id]
        size = f"{len(asked[0].prompt):,} characters" if asked else "nothing"
        output.line(f"{id}: {len(asked)} to ask for, {there} there; the prompt: {size}  (harness prompt {id})")
    calls = len(missing.attempts)
    most = f" to {calls * how.turns}" if how.turns > 1 else ""
    output.line(f"{calls}{most} calls of {how.model} at {server}")


def _ask(run: "AskRun", missing: "Plan") -> tuple[list["Result"], bool]:
    results: list[Result] = []
    began = time.monotonic()
    with output.ProgressLine(len(missing.attempts)) as steps:
        try:
            for result in run.results(missing.attempts, lambda attempt, what: steps.now(str(attempt), what)):
                results.append(result)
                told, attempt = _describe_result(result)
                pace = _format_pace(len(_select_asked(results)), len(missing.attempts), time.monotonic() - began)
                steps.done(str(attempt), f"{told}; {pace}")
                steps.now(_PACE, pace)
        except KeyboardInterrupt:
            return run.written, True
    return results, False


def _format_pace(done: int, total: int, seconds: float) -> str:
    if not done:
        return f"0 of {total}"
    rate = done / max(seconds, 1e-3)
    left = (total - done) / rate
    speed = f"{rate * 60:.2g} a minute" if rate < 1 else f"{rate:.2g} a second"
    remaining = f", about {_format_duration(left)} left" if done < total else ""
    return f"{done} of {total}, {speed}{remaining}"


def _format_duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _describe_result(result: "Result") -> tuple[str, "PlannedAttempt"]:
    from harness.asking.run import Lost

    if isinstance(result, Lost):
        return f"not asked: {result.attempt}: {str(result.error).splitlines()[0]}", result.attempt
    attempt, asked = result
    last = asked.turns[-1]
    facts = [f"{last.seconds:.1f} s"] + ([f"{asked.completion_tokens} tokens"] if asked.completion_tokens else [])
    if asked.unanswered:
        return f"no answer: {attempt}: {asked.unanswered} ({', '.join(facts)})", attempt
    if asked.unread:
        return f"could not be read: {attempt}: the reply {asked.unread} ({', '.join(facts)})", attempt
    if asked.settings.turns > 1:
        facts.append(f"{len(asked.turns)} turns, answered by turn {asked.answered_by}")
    return f"answered: {attempt} ({', '.join(facts)})", attempt


def _select_lost(results: Sequence["Result"]) -> list["Lost"]:
    from harness.asking.run import Lost

    return [result for result in results if isinstance(result, Lost)]


def _select_asked(results: Sequence["Result"]) -> list["Asked"]:
    return [result[1] for result in results if isinstance(result, tuple)]


def _print(missing: "Plan", results: Sequence["Result"]) -> None:
    came = _select_asked(results)
    rows = []
    for id, there in missing.there.items():
        own = [asked for asked in came if asked.challenge == id]
        unusable = (sum(a.unanswered is not None for a in own), sum(a.unread is not None for a in own))
        tokens = (_format_sum([a.prompt_tokens for a in own]), _format_sum([a.completion_tokens for a in own]))
        rows.append((id, there + len(own), len(own), *unusable, *tokens, _format_sum([a.cost for a in own])))
    titles = ("challenge", "attempts", "new", "no answer", "not read", "tokens in", "tokens out", "cost")
    output.table(titles, rows, right=titles[1:])


def _format_sum(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(known):.6g}" if known and len(known) == len(values) else "-"


def _tell_end(missing: "Plan", results: Sequence["Result"], folder: str, interrupted: bool) -> None:
    came, lost = _select_asked(results), _select_lost(results)
    left = len(missing.attempts) - len(came)
    if interrupted:
        output.note(f"interrupted: {left} of {len(missing.attempts)} are missing; the same command goes on with them")
    elif lost:
        output.note(f"error: {left} of {len(missing.attempts)} are missing; the same command goes on with them")
        output.note(f"  the last: {lost[-1].error}")
    elif not missing.attempts:
        output.note("nothing to ask: all attempts are there; -n raises their number")
    if any(asked.unanswered for asked in came):
        output.note("a reply without an answer is an attempt that meets no criterion; it is not asked for again")
    if any(asked.unread for asked in came):
        output.note(
            "a reply that could not be read with certainty is an attempt that is not graded; to choose what it means:\n"
            f"  harness import reply submissions/{folder}/CHALLENGE/attempt-N/reply.md --model {folder} "
            "--challenge CHALLENGE --attempt N --take 2; without --take it lists the blocks"
        )
    if came:
        output.note(f"in submissions/{folder}\n  try: harness grade {folder}")
