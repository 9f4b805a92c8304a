"""Commands that manage the workspace."""
