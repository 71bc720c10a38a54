"""What SQLite calls while a statement runs: functions, dates, numbers, casts. Never: a node."""
