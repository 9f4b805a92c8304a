"""Rendering of the few templates: drawings and the shell of the page, in a strict environment."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from harness.report import formatting


def render(template: str, **views: object) -> Markup:
    """Render a template with every value escaped for HTML and XML.

    Raises:
        jinja2.UndefinedError: the template uses a name that its view lacks.
    """
    return Markup(environment().get_template(template).render(**views).rstrip() + "\n")


def asset(name: str) -> Markup:
    """Return a file beside the templates as it is."""
    loader = environment().loader
    assert loader is not None
    return Markup(loader.get_source(environment(), name)[0])


@cache
def environment() -> Environment:
    """Return the environment of all templates, which may call `formatting`."""
    made = Environment(
        loader=PackageLoader("harness.report"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["formatting"] = formatting
    return made
