"""The option `--format`, whose choices are those of the registry of formats."""

import typer

from harness.report.formats import FORMATS


def format_option(kind: str, *others: str) -> object:
    """Return the option `--format` of a command that writes this kind, and others in ways of its own."""
    choices = {each.name: each.help for each in FORMATS if getattr(each, kind) or each.name in others}

    def refuse_unknown(name: str | None) -> str | None:
        if name is not None and name not in choices:
            from harness.errors import nearest

            raise typer.BadParameter(f"no {name!r}{nearest(name, choices)}\n  one of {', '.join(choices)}")
        return name

    return typer.Option(
        "--format",
        "-F",
        help="Output format.",
        metavar=f"[{'|'.join(choices)}]",
        callback=refuse_unknown,
        autocompletion=lambda: list(choices.items()),
    )
