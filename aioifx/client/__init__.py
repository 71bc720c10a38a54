"""The client: connections, pools, and everything below them down to the session. Never: sqlite3, aioifx.server."""
