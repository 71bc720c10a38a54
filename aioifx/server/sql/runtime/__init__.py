"""The functions that SQLite calls while a statement runs: dates, numbers, strings, casts. Never: a node."""
