"""What users hold: connections, cursors, prepared statements, transactions. Never: an opcode."""
