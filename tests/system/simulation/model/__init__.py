"""A model of a server in plain Python: a database, sessions, the wire. Never: threads, SQLite, the embedded server."""
