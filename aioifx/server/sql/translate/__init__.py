"""Nodes and a schema -> SQLite's SQL. Never: sqlite3, a session."""
