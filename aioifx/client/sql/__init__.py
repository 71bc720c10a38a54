"""What a client must know of SQL text. Never: a connection."""
