"""Informix's system catalog, kept and read. Never: a session."""
