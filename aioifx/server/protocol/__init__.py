"""The messages of a session and their replies. Never: SQLite."""
