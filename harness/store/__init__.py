"""The store of records: local ones in SQLite, published ones as files, and what may be reused or removed."""
