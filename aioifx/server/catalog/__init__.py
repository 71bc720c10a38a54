"""Informix's system catalog: writing and reading it. Never: a session."""
