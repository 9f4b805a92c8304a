"""Store of records, in SQLite and in files."""
