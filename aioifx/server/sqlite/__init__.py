"""The engine's storage: SQLite connections, locks, writes, errors. Never: Informix SQL."""
