"""Objects of the public API: connections, cursors, prepared statements, transactions. Never: an opcode."""
