"""Translation of nodes, with a schema, to SQLite's SQL. Never: sqlite3, a session."""
