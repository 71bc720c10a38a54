"""Execution of statements: plans, transactions, cursors, sessions. Never: a message."""
