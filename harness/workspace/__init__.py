"""The workspace and its files."""

from harness.workspace.workspace import (
    COLLECTION_FILE,
    COLLECTIONS,
    LANGUAGES,
    SETTINGS_FILE,
    Workspace,
    list_known_languages,
)

__all__ = ["COLLECTIONS", "COLLECTION_FILE", "LANGUAGES", "SETTINGS_FILE", "Workspace", "list_known_languages"]
