"""Rendering of templates in strict environments; equal views give equal bytes."""

from collections.abc import Callable
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from harness.report import escape, formatting


def render(template: str, **views: object) -> str:
    """Render a Markdown template.

    Raises:
        jinja2.UndefinedError: the template uses a name that its view lacks.
    """
    return markdown_environment().get_template(template).render(**views).rstrip() + "\n"


def render_svg(template: str, **views: object) -> str:
    """Render an SVG template, with all text escaped for XML.

    Raises:
        jinja2.UndefinedError: the template uses a name that its view lacks.
    """
    return _svg_environment().get_template(template).render(**views).rstrip() + "\n"


def new_environment(package: str, finalize: Callable[[object], object] | None = None) -> Environment:
    """Return a strict environment of a package's templates, which may call `formatting`.

    Args:
        finalize: escapes every expression; by default only HTML's and XML's signs are escaped.
    """
    environment = Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["formatting"] = formatting
    return environment


@cache
def _svg_environment() -> Environment:
    return new_environment("harness.report.writers")


@cache
def markdown_environment() -> Environment:
    """Return a template environment that escapes every expression for Markdown, unless a filter made it safe."""
    environment = new_environment("harness.report.writers", escape.markdown)
    environment.keep_trailing_newline = True
    environment.filters["code"] = escape.code
    environment.filters["fenced"] = escape.fenced
    return environment
