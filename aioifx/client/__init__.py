"""THE USER'S END. Never: sqlite3, aioifx.server."""
