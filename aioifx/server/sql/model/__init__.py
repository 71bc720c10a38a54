"""Schemas, plans, settings, type rules: the data structures of translation. Never: SQL text."""
