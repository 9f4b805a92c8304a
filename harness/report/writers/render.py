"""Rendering of templates in strict environments; equal views give equal bytes."""

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


@cache
def _svg_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("harness.report.writers"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["formatting"] = formatting
    return environment


@cache
def markdown_environment() -> Environment:
    """Return a template environment that escapes every expression for Markdown, unless a filter made it safe."""
    environment = Environment(
        loader=PackageLoader("harness.report.writers"),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=escape.markdown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["code"] = escape.code
    environment.filters["fenced"] = escape.fenced
    environment.globals["formatting"] = formatting
    return environment
