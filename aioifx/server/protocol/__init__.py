"""Messages of one session, and the replies. Never: SQLite."""
