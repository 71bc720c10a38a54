"""Informix SQL text -> nodes. Never: a schema."""
