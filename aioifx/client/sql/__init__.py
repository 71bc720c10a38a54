"""SQL text as far as a client must parse it. Never: a connection."""
