"""`harness serve`: the HTTP service and its tokens."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import output

if TYPE_CHECKING:
    from harness.serving.tokens import TokenFile

app = typer.Typer(rich_markup_mode=None, help="Grade over HTTP: answers come in, records go out.")
token = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Make, list and take back tokens.")
app.add_typer(token, name="token")

TokensPath = Annotated[
    Path | None, typer.Option("--tokens", metavar="FILE", help="File with the tokens, in place of the workspace's.")
]


@app.callback(invoke_without_command=True)
def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = ("127.0.0.1"),
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 takes any that is free.")] = 8321,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Answers graded at a time; one a processor by default.")
    ] = None,
    executor: Annotated[str, typer.Option(metavar="local|ray", help="What runs the grades.")] = "local",
    address: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Of the Ray cluster; this machine's own by default.")
    ] = None,
    tokens: TokensPath = None,
    no_auth: Annotated[bool, typer.Option("--no-auth", help="Ask nobody for a token; on loopback only.")] = False,
    queue: Annotated[int, typer.Option(min=1, help="Answers that may wait; more are told to come again.")] = 1000,
    rate: Annotated[float, typer.Option(min=0.1, help="Requests a second of one token.")] = 100.0,
    max_body: Annotated[float, typer.Option(min=0.01, max=64, help="MiB of one request.")] = 4.0,
    drain: Annotated[float, typer.Option(min=0, help="Seconds for running grades when told to end.")] = 60.0,
) -> None:
    """Grade over HTTP: answers come in, records go out.

    Make a token first: without one it does not start. What it has accepted is graded, also after a kill. Writes nothing
    under reports/. SIGTERM or Ctrl-C ends it once what is being graded is finished.

    \b
    harness serve token add trainer --scope grade
    harness serve
    harness serve --host 0.0.0.0 --port 8321 -j 8
    """
    if context.invoked_subcommand:
        return
    from harness.errors import SpecError
    from harness.executors.registry import executor_kind
    from harness.serving import service_log
    from harness.serving.limits import ServiceLimits
    from harness.serving.server import ServiceSettings
    from harness.serving.server import serve as run
    from harness.workspace import Workspace

    if executor_kind(executor).enter is None and address is not None:
        raise SpecError("--address", f"the executor {executor} has none", hint="try: --executor ray")
    limits = ServiceLimits(queue=queue, rate=rate, body_bytes=int(max_body * (1 << 20)))
    service_log.set_up()
    settings = ServiceSettings(host, port, executor, jobs, address, tokens, no_auth, drain, limits)
    run(Workspace.find(), settings, output.note)


@token.command()
def add(
    name: Annotated[str, typer.Argument(help="Whose it is: lower-case letters, digits, '.', '_' and '-'.")],
    scope: Annotated[list[str], typer.Option(help="What it allows: grade, or read; may be repeated.")],
    tokens: TokensPath = None,
) -> None:
    """Make a token and print it, this once.

    `grade` sends answers and reads their grades; `read` reads every grade and the metrics.
    """
    import re

    from harness.errors import nearest
    from harness.serving.tokens import Scope

    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", name):
        raise typer.BadParameter(f"{name!r} is no name: lower-case letters, digits, '.', '_' and '-'")
    for one in scope:
        if one not in list(Scope):
            raise typer.BadParameter(
                f"--scope: no scope {one!r}{nearest(one, map(str, Scope))}\n  scopes are grade, read"
            )
    made = _open_tokens(tokens).add(name, tuple(dict.fromkeys(map(Scope, scope))))
    output.line(made)
    output.note("this is shown once and kept nowhere; a running server takes it from now on")


@token.command("ls")
def list_tokens(tokens: TokensPath = None) -> None:
    """List the tokens by name; none can be shown again."""
    entries = _open_tokens(tokens).entries()
    if not entries:
        output.note("no tokens\n  try: harness serve token add NAME --scope grade")
        return
    rows = [[entry.name, ", ".join(entry.scopes), f"{entry.made:%Y-%m-%d %H:%M}"] for entry in entries]
    output.table(["name", "scopes", "made, UTC"], rows)


@token.command("rm")
def remove(name: Annotated[str, typer.Argument(help="Whose it is.")], tokens: TokensPath = None) -> None:
    """Take a token back; a running server refuses it from the next request on."""
    _open_tokens(tokens).remove(name)
    output.note(f"removed: {name}")


def _open_tokens(path: Path | None) -> "TokenFile":
    from harness.serving.tokens import TokenFile, token_path
    from harness.workspace import Workspace

    return TokenFile(path or token_path(Workspace.find()))
