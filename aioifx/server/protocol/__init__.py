"""Messages of one session and what answers them. Never: SQLite."""
