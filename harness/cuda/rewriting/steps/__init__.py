"""The rewriting steps, each on one fragment of source."""
