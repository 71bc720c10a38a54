"""What statements do: plans, transactions, cursors, sessions. Never: a message."""
