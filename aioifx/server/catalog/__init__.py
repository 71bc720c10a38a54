"""Informix's system catalog: its updates and its queries. Never: a session."""
