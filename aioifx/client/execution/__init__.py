"""Statements and their results: prepare, execute, fetch, stream. Never: a socket, the pool."""
