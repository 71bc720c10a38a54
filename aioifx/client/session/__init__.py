"""The conversation with one server: order of requests, settings, transactions. Never: a row."""
