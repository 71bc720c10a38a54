"""Schemas, plans, settings, type rules: the nouns of translation. Never: SQL text."""
