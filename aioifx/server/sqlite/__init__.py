"""SQLite below the engine: connections, locks, writes, errors. Never: Informix SQL."""
