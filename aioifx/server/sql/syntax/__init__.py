"""Parsing of Informix SQL text to nodes. Never: a schema."""
