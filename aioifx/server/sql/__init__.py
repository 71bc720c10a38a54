"""Informix SQL: tokens, syntax tree, parser, types, translation to SQLite's SQL. Pure. Never: a database handle."""
