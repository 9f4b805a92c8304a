"""The workspace: where challenges, references, submissions and records live, and how files are kept."""

from harness.workspace.workspace import (
    COLLECTION_FILE,
    COLLECTIONS,
    LANGUAGES,
    SETTINGS_FILE,
    Workspace,
    list_known_languages,
)

__all__ = ["COLLECTIONS", "COLLECTION_FILE", "LANGUAGES", "SETTINGS_FILE", "Workspace", "list_known_languages"]
