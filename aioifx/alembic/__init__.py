"""Alembic's operations and comparisons for Informix. Never: the dialect itself, a message of SQLI.

Alembic imports `plugin` with itself, through the entry point in group ``alembic.plugins``: an env.py needs no import.
"""
