"""From options to an open connection. Never: a statement of the user."""
