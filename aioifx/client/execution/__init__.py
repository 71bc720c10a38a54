"""Statements and what comes of them: prepare, execute, fetch, stream. Never: a socket, the pool."""
