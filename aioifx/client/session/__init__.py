"""One conversation with one server: who sends when, settings, transactions. Never: a row."""
