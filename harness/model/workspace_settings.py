"""What a workspace says of itself, in its `harness.toml`."""

from harness.model.base import Model


class WorkspaceSettings(Model):
    """The content of `harness.toml`; a workspace without one has its own challenges only."""

    bundled_challenges: bool = False
    """Whether the challenges that come with the package belong to it. One of the same name in `challenges/` is taken
    instead of the bundled one."""
