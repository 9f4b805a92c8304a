"""The settings of a workspace, in its `harness.toml`."""

from harness.model.base import Model, Text

TITLE = "Kernels by language models"
"""Title of a board whose workspace gives none."""


class WorkspaceSettings(Model):
    """The content of `harness.toml`; without one, a workspace has only its own challenges."""

    bundled_challenges: bool = False
    """Whether to include the challenges bundled with the package; those in `challenges/` take precedence."""

    title: Text = TITLE
    """Title of the page of all reports."""
