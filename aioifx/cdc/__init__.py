"""Change data capture: committed changes as an async iterator. Never: SQL of a user, a pool."""
